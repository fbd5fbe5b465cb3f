import assert from "node:assert/strict";
import { test } from "node:test";
import { createService, type Service } from "../../lib/index.ts";
import { createTestService, forkTestService, type Test, verifyStandardWebhook } from "../../lib/testing.ts";
import { hasSnapshots, withSnapshots } from "../helpers/engine.ts";
import { runner } from "../helpers/fake-test-runner.ts";
import { bearer, jsonBearer } from "../helpers/headers.ts";

const headersOf = (service: Service<string | null>) => jsonBearer(service.apiKey);
const post = async (service: Service<string | null>, path: string, body: object) => {
  const answer = await service.fetch(path, { method: "POST", headers: headersOf(service), body: JSON.stringify(body) });
  assert.equal(answer.status, 201, await answer.clone().text());
  return answer.json() as Promise<{ id: string }>;
};
const subscribe = (service: Service<string | null>, more: object = {}) =>
  post(service, "/v1/webhooks", { url: "https://hook.inbox.test/", events: ["*"], ...more });
const project = (service: Service<string | null>, name = "web") =>
  post(service, "/v1/projects", { name, region: "eu" });

test("a test's service closes itself with the test, in either runner; so do its forks", async () => {
  for (const hook of ["after", "onTestFinished"] as const) {
    const { t, end } = runner(hook);
    const service = await createTestService(t);
    const fork = hasSnapshots ? await forkTestService(t, service) : service;
    assert.equal(service.clock.now().toISOString(), "2026-01-01T00:00:00.000Z");
    await end();
    await assert.rejects(service.fork(), /the service is closed/);
    await assert.rejects(fork.fork(), /the service is closed/);
  }
});

test("without a context or a global afterEach the error says what is missing", async () => {
  await assert.rejects(createTestService(undefined), /createTestService\(t\)/);
});

test("an invalid context is refused before a service is made", async () => {
  const options = { clock: "real", random: "other" };
  const refused = {
    name: "TypeError",
    message: /^pass the test's context: createTestService\(t\), or .*\(t, options\); in before or beforeAll, /,
  };
  for (const wrong of [5, "t", true, null, options, [], () => {}])
    await assert.rejects(createTestService(wrong as unknown as Test), refused);
  const fork = () => assert.fail("nothing is to be forked");
  await assert.rejects(forkTestService(5 as unknown as Test, { fork } as unknown as Service<string | null>), refused);
});

test("a context may be a function, as Vitest's is", async () => {
  const { t, end } = runner("onTestFinished");
  const service = await createTestService(Object.assign(() => {}, t));
  await end();
  await assert.rejects(service.fork(), /the service is closed/);
});

test("a job that still runs when the test ends fails it", async () => {
  const { t, end } = runner("after");
  const service = await createTestService(t);
  await subscribe(service);
  let answer = (_: Response) => {};
  const arrived = new Promise<void>((resolve) => {
    service.webhooks.sink("hook", () => {
      resolve();
      return new Promise<Response>((give) => {
        answer = give;
      });
    });
  });
  await project(service);
  const settled = Promise.all([service.settle()]);
  await arrived;
  const ended = assert.rejects(end(), /1 job was still running when the test ended/);
  answer(new Response());
  await ended;
  await settled;
});

test("two services of the same options give the same bytes", async (t) => {
  const [one, two] = await Promise.all([createTestService(t), createTestService(t)]);
  assert.equal(one.apiKey, two.apiKey);
  assert.deepEqual(await project(one), await project(two));
});

test("waitFor gives the oldest delivery that was not given yet", async (t) => {
  const service = await createTestService(t);
  await subscribe(service);
  await assert.rejects(
    service.webhooks.waitFor("project.created"),
    /no delivery of project.created.*advance the clock/,
  );
  await project(service, "one");
  const first = await service.webhooks.waitFor("project.created");
  assert.deepEqual([first.endpoint, first.method, first.response], ["hook", "POST", 200]);
  assert.equal((first.data as { name: string }).name, "one");
  await project(service, "two");
  await project(service, "three");
  const third = await service.webhooks.waitFor(({ body }) => body.includes('"three"'));
  assert.equal(third.event, "project.created");
  assert.match((await service.webhooks.waitFor("*", { endpoint: "hook" })).body, /"two"/);
  await assert.rejects(service.webhooks.waitFor("*"), /no delivery was received/);
  for (const timeout of ["soon", 5000 as unknown as string])
    await assert.rejects(service.webhooks.waitFor("*", { timeout }), /is not a duration/);
});

test("where no endpoint listens for an event, waitFor says so instead of advising to advance the clock", async (t) => {
  const service = await createTestService(t);
  const unheard = (event: string) =>
    new RegExp(`no delivery.* was received, because no active webhook or integration listens for ${event}; create one`);
  await assert.rejects(service.webhooks.waitFor("*"), unheard("any event"));
  const { id } = await subscribe(service, { events: ["project.deleted"] });
  await assert.rejects(service.webhooks.waitFor("project.created"), unheard("it"));
  for (const event of ["project.deleted", "ping", "*"] as const)
    await assert.rejects(service.webhooks.waitFor(event), /nothing more is due; advance the clock/);
  await service.client().webhooks.update({ id, status: "inactive" });
  await assert.rejects(service.webhooks.waitFor("ping"), unheard("it"));
  const running = await createTestService(t, { clock: "1000x" });
  await assert.rejects(running.webhooks.waitFor("project.created"), unheard("it"));
});

test("under a clock that runs waitFor waits", async (t) => {
  const service = await createTestService(t, { clock: "1000x" });
  await subscribe(service);
  const delivery = service.webhooks.waitFor("project.deleted", { timeout: "10h" });
  const { id } = await project(service);
  await service.fetch(`/v1/projects/${id}`, { method: "DELETE", headers: headersOf(service) });
  assert.equal((await delivery).event, "project.deleted");
  await assert.rejects(service.webhooks.waitFor("project.deleted", { timeout: "10s" }), /within 10s/);
});

test("waiting ends when the service closes, a snapshot is restored, or the clock is frozen", async (t) => {
  const [closed, restored, frozen] = [
    await createTestService(t, { clock: "real" }),
    await createTestService(t, { clock: "real" }),
    await createTestService(t, { clock: "99999x" }),
  ];
  await subscribe(frozen);
  const wait = (service: Service<string | null>) => service.webhooks.waitFor("project.created", { timeout: "10m" });
  const ends = [
    assert.rejects(wait(closed), /no delivery of project.created was received before the service was closed/),
    ...(hasSnapshots ? [assert.rejects(wait(restored), /a snapshot was restored/)] : []),
    assert.rejects(wait(frozen), /nothing more is due; advance the clock/),
  ];
  frozen.clock.freeze();
  await closed.close();
  if (hasSnapshots) await restored.restore((await restored.snapshot()).id);
  await Promise.all(ends);
  await assert.rejects(wait(closed), /before the service was closed/);
});

test("Standard Webhooks are verified by the service's clock", async (t) => {
  const service = await createTestService(t);
  await subscribe(service, { secret: "hush" });
  await project(service);
  const { headers, body } = await service.webhooks.waitFor("project.created");
  const given = new Headers(headers);
  const verify = (secret: string, text: string, now?: Date) =>
    verifyStandardWebhook(secret, text, given, now ? { now } : {});
  assert.equal(verify("hush", body, service.clock.now()), true);
  assert.equal(verify("hush", body), false, "the machine's clock is far from it");
  assert.equal(verify("other", body, service.clock.now()), false);
  assert.equal(verify("", body, service.clock.now()), false);
  assert.equal(verify("hush", `${body} `, service.clock.now()), false);
  await service.clock.advance("5m1s");
  assert.equal(verify("hush", body, service.clock.now()), false);
  given.delete("webhook-id");
  assert.equal(verify("hush", body, new Date("2026-01-01T00:00:00Z")), false);
});

test("an organization in one line, and its people in another", async (t) => {
  const service = await createTestService(t);
  assert.equal((await service.organizations.create({ name: "acme", plan: "pro" })).plan, "pro");
  const { key } = await service.keys.create({ organization: "acme", role: "developer" });
  const me = await service.fetch("/v1/me", { headers: bearer(key) });
  assert.equal(((await me.json()) as { organization: { name: string } }).organization.name, "acme");
  for (const name of ["acme", "ACME", "", "x".repeat(65)])
    await assert.rejects(service.organizations.create({ name }), { code: "validation_failed" });
});

test("a baseline that every test forks", withSnapshots, async (t) => {
  const baseline = await createService({ clock: "manual", logLevel: "silent" });
  t.after(() => baseline.close());
  await project(baseline, "base");
  await Promise.all(
    Array.from({ length: 50 }, async (_, i) => {
      const own = await forkTestService(t, baseline);
      await project(own, `own-${i}`);
      const answer = await own.fetch("/v1/projects", { headers: headersOf(own) });
      const { data } = (await answer.json()) as { data: { name: string }[] };
      assert.deepEqual(
        data.map(({ name }) => name),
        [`own-${i}`, "base"],
      );
    }),
  );
});
