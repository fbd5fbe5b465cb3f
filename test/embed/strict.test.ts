import assert from "node:assert/strict";
import { test } from "node:test";
import { createService, type Options, type Service } from "../../lib/index.ts";
import { createTestService } from "../../lib/testing.ts";
import { hasSnapshots } from "../helpers/engine.ts";
import { runner } from "../helpers/fake-test-runner.ts";
import { freePort } from "../helpers/free-port.ts";
import { bearer } from "../helpers/headers.ts";
import { member, withMembers } from "../helpers/members.ts";
import { deferred } from "../helpers/temporary-store.ts";
import { startTextServer } from "../helpers/text-server.ts";
import { start as receiver } from "../helpers/webhook-receiver.ts";

const subscribe = (service: Service<string | null>, url = "https://hook.inbox.test/") =>
  service.client().webhooks.create({ url, events: ["*"] });
const project = (service: Service<string | null>, name = "web") =>
  service.client().projects.create({ name, region: "eu" });

const failing = () => {
  throw new TypeError("not for me", { cause: new Error("it is for you") });
};

test("an error thrown by a sink is the error of the attempt, and fails the test", async () => {
  const { t, end } = runner("after");
  const service = await createTestService(t);
  const { id } = await subscribe(service);
  service.webhooks.sink("hook", failing);
  await project(service);
  await service.settle();
  const { data } = await service.client().webhooks.deliveries({ id });
  assert.equal(data[0]?.attempts[0]?.error, 'the sink "hook" threw TypeError: not for me: it is for you');
  assert.deepEqual(
    service.sinkErrors.map(({ sink, error }) => [sink, String(error)]),
    [["hook", "TypeError: not for me"]],
  );
  await assert.rejects(end(), /^Error: the sink "hook" threw TypeError: not for me: it is for you$/);
});

test("the error of an attempt names the causes of what a sink or the transport threw", async (t) => {
  const port = await freePort();
  const refused = `connect ECONNREFUSED 127.0.0.1:${port}`;
  const circle = new Error("one");
  circle.cause = new Error("other", { cause: circle });
  const thrown: readonly [() => unknown, string][] = [
    [() => fetch(`http://127.0.0.1:${port}/`), `TypeError: fetch failed: ${refused}`],
    [
      () => Promise.any([fetch(`http://127.0.0.1:${port}/`)]),
      `AggregateError: All promises were rejected: fetch failed: ${refused}`,
    ],
    [() => Promise.reject(new Error("no row", { cause: "the table is empty" })), "Error: no row: the table is empty"],
    [() => Promise.reject(new Error("lost: gone", { cause: new Error("gone") })), "Error: lost: gone"],
    [() => Promise.reject(circle), "Error: one: other"],
  ];
  const transport = () => fetch(`http://127.0.0.1:${port}/`);
  const service = await createService({ clock: "manual", transport });
  t.after(() => service.close());
  const errorOf = async (url: string) => {
    const { id } = await subscribe(service, url);
    await service.client().webhooks.test({ id });
    await service.settle();
    return (await service.client().webhooks.deliveries({ id })).data[0]?.attempts[0]?.error;
  };
  for (const [at, [run, text]] of thrown.entries()) {
    service.webhooks.sink(`hook${at}`, run as () => Promise<Response>);
    assert.equal(await errorOf(`https://hook${at}.inbox.test/`), `the sink "hook${at}" threw ${text}`);
  }
  assert.equal(await errorOf("https://example.com/"), `fetch failed: ${refused}`);
});

test("a sink that moves the clock, or settles, throws instead of waiting for itself", async (t) => {
  const service = await createService({ clock: "manual@2026-01-01T00:00:00Z" });
  t.after(() => service.close());
  await subscribe(service);
  const refused: string[] = [];
  const moves = [
    () => service.settle(),
    () => service.clock.advance("1h"),
    () => service.clock.advanceTo("2027-01-01T00:00:00Z"),
    () => service.clock.advanceToNext(),
    () => service.clock.runUntilIdle(),
  ];
  service.webhooks.sink("hook", async () => {
    for (const move of moves) await move().catch(({ message }) => refused.push(message));
    return new Response();
  });
  await project(service);
  await service.settle();
  const right = "do that once the call that delivers to it has resolved";
  assert.deepEqual(
    refused,
    moves.map(() => `clock cannot be moved or settled within the sink "hook"; ${right}`),
  );
  // Calls of another service are allowed. So is any work after the sink has ended.
  const other = hasSnapshots ? await service.fork() : await createService({ clock: "manual" });
  t.after(() => other.close());
  let later = (): Promise<unknown> => Promise.reject(new Error("the sink was not called"));
  const begin = deferred<void>();
  service.webhooks.sink("hook", async () => {
    await other.settle();
    later = begin.promise.then.bind(begin.promise, () => service.settle());
    return new Response();
  });
  await project(service, "api");
  await service.settle();
  begin.open();
  await later();
  assert.deepEqual(service.sinkErrors, []);
});

test("strict: nothing leaves the process, and no request is refused for its number", async (t) => {
  const service = await createTestService(t, { strict: true });
  const down = "https://127.0.0.1:1/hook";
  const { id } = await subscribe(service, down);
  await project(service);
  await service.settle();
  assert.deepEqual(
    service.inbox.list().map(({ endpoint, url }) => [endpoint, url]),
    [["127.0.0.1", down]],
  );
  const { data } = await service.client().webhooks.deliveries({ id });
  assert.equal(data[0]?.status, "succeeded");
  const answer = await service.fetch("/v1/me", { headers: { authorization: `Bearer ${service.apiKey}` } });
  assert.equal(answer.headers.get("x-ratelimit-limit"), "1000000000");
});

test("strict: no name server is asked for the TXT record of a domain", async (t) => {
  const { address, names } = await startTextServer(t, new Map());
  const service = await createTestService(t, { strict: true, domains: { verify: true, servers: [address] } });
  const { id } = await project(service);
  const { environments } = service.client();
  await environments.put({ id, name: "production", domains: ["www.example.com"] });
  await service.settle();
  const { data } = await environments.list({ id });
  assert.deepEqual(
    data[0]?.domain_status?.map(({ status, reason }) => [status, reason]),
    [
      [
        "pending",
        "the TXT record _svc.www.example.com could not be looked up: the option strict allows no request to leave the process; set domains.verify to false",
      ],
    ],
  );
  assert.deepEqual(names, []);
});

test("strict: forwarding reaches a receiver on this machine, and any other address throws at once", async (t) => {
  const service = await createTestService(t, { strict: true, trustNetwork: ["10.0.0.0/8"] });
  const { url, requests, close } = await receiver((_, response) => response.end(), { plain: true });
  t.after(close);
  for (const other of ["http://10.0.0.1/", "https://example.com/hook"])
    assert.throws(() => service.webhooks.forward("hook", other), { code: "validation_failed" }, other);
  service.webhooks.forward("hook", url);
  const { id } = await subscribe(service);
  await project(service);
  await service.settle();
  assert.equal(requests.length, 1);
  const { data } = await service.client().webhooks.deliveries({ id });
  assert.deepEqual([data[0]?.status, service.inbox.list()[0]?.response], ["succeeded", 200]);
});

test("strict: a key's own limit counts only where the test sets one for all keys", async (t) => {
  const limited = withMembers(member("busy", "owner", { rate_limit: 1 }));
  const statuses = async (options: Options) => {
    const service = await createTestService(t, { strict: true, seed: limited, ...options });
    const ask = () => service.fetch("/v1/me", { headers: bearer("sk_live_busy") });
    return [await ask(), await ask()].map(({ status }) => status);
  };
  assert.deepEqual(await statuses({}), [200, 200]);
  assert.deepEqual(await statuses({ rateLimit: 5 }), [200, 429]);
});

test("strict: a scenario that was never used, and an error of a sink, reject the close", async () => {
  const { t, end } = runner("onTestFinished");
  const service = await createTestService(t, { strict: true });
  await service.scenarios.add({ match: { branch: "release" }, outcome: { result: "fail" } });
  await service.scenarios.next("generation", { result: "fail" });
  if (hasSnapshots) await (await service.fork()).close();
  await assert.rejects(end(), {
    message: 'the scenario {"branch":"release"} was never used; the scenario for the next generation was never used',
  });
  const other = await createService({ strict: true });
  await subscribe(other);
  other.webhooks.sink("hook", failing);
  await project(other);
  await other.settle();
  await assert.rejects(other.close(), /^Error: the sink "hook" threw TypeError: not for me: it is for you$/);
  await assert.rejects(createService({ strict: true, mode: "start" }), /option strict is for the mode dev/);
});
