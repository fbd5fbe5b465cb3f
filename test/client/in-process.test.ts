import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientProblem } from "../../lib/client.ts";
import { yieldToEventLoop } from "../../lib/kernel/node/event-loop.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { bearer } from "../helpers/headers.ts";
import { keyOf, type World, world } from "../helpers/test-service.ts";

/** `service.client()`: calls without a request, and how they compare with requests. */
const insideOf = ({ service }: World, apiKey = keyOf("owner")) => service.client({ apiKey });
const problemOf = async (call: Promise<unknown>) => {
  const error = await call.catch((error: unknown) => error);
  assert.ok(error instanceof ClientProblem, String(error));
  return error;
};
const git = { type: "git", repo: "acme/web", branch: "main" } as const;

test("it passes the same gate, rules and windows as a request", async (t) => {
  const here = await world(t, { rateLimit: 5 });
  const client = insideOf(here);
  const wrong = await problemOf(client.projects.create({ name: "web", region: "" }));
  assert.deepEqual([wrong.status, wrong.code], [422, "validation_failed"]);
  assert.deepEqual(
    wrong.details.map(({ path }) => path),
    ["region"],
  );
  assert.match(wrong.requestId ?? "", /^req_/);
  assert.equal((await problemOf(client.projects.get({ id: "proj_unknown" }))).code, "not_found");
  assert.equal((await problemOf(insideOf(here, "").projects.list())).code, "unauthorized");
  assert.equal((await problemOf(insideOf(here, "sk_live_demo_nobody").projects.list())).code, "unauthorized");
  const invited = insideOf(here, keyOf("viewer")).users.invite({ email: "new@acme.test", role: "viewer" });
  assert.equal((await problemOf(invited)).code, "insufficient_role");

  const { headers } = await here.call("owner", "GET", "/v1/projects");
  assert.equal(headers.get("x-ratelimit-remaining"), "2");
  await client.projects.list();
  await client.projects.list();
  const limited = await problemOf(client.projects.list());
  assert.deepEqual([limited.code, limited.retryAfter], ["rate_limited", 600]);
});

test("an idempotency key counts for calls and requests alike", async (t) => {
  const here = await world(t);
  const client = insideOf(here);
  const order = { name: "web", region: "eu-west-1" };
  const first = await client.projects.create(order, { idempotencyKey: "once" });
  assert.deepEqual(await client.projects.create(order, { idempotencyKey: "once" }), first);
  const { body } = await here.call("owner", "POST", "/v1/projects", order, { "idempotency-key": "once" });
  assert.deepEqual(body, first);
  const other = client.projects.create({ ...order, name: "api" }, { idempotencyKey: "once" });
  assert.equal((await problemOf(other)).code, "idempotency_mismatch");
  assert.equal((await client.projects.list()).data.length, 1);
});

test("many calls at once warn of nothing, and an input of a model may be called follow", async (t) => {
  const warned: string[] = [];
  const note = ({ message }: Error) => void warned.push(message);
  process.on("warning", note);
  t.after(() => process.off("warning", note));
  const client = insideOf(await world(t));
  const inputs = { model: "acme/any-model", prompt: "a fox", follow: true };
  await Promise.all(Array.from({ length: 20 }, () => client.projects.list()));
  assert.equal(((await client.call("generations.create", inputs)) as { status: string }).status, "queued");
  await yieldToEventLoop();
  assert.deepEqual(warned, []);
  for (const id of ["deployments.logs", "environments.logs"])
    await assert.rejects(client.call(id, { id: "x", name: "y", follow: true }), /read it with followLogs/);
});

test("its inputs and results are shared with no other caller", async (t) => {
  const here = await world(t);
  const client = insideOf(here);
  const project = await client.projects.create({ name: "web", region: "eu-west-1" });
  Object.assign(project, { name: "changed" });
  assert.equal((await client.projects.get({ id: project.id })).name, "web");
});

test("faults apply to it, and a broken connection is reported as such", async (t) => {
  const here = await world(t);
  const { service } = here;
  const client = insideOf(here);
  service.faults.add({ match: { path: "/v1/projects" }, respond: { status: 503 }, times: 1 });
  const later = { status: 429, headers: { "Retry-After": "7" } };
  service.faults.add({ match: { path: "/v1/projects" }, respond: later, times: 1 });
  service.faults.add({ match: { path: "/v1/projects" }, respond: { drop: true }, times: 1 });
  const ends = [await problemOf(client.projects.list()), await problemOf(client.projects.list())];
  assert.deepEqual(
    ends.map(({ code, retryAfter }) => [code, retryAfter]),
    [
      ["unavailable", 1],
      ["rate_limited", 7],
    ],
  );
  assert.equal((await problemOf(client.projects.list())).code, "unreachable");
  assert.deepEqual((await client.projects.list()).data, []);
});

test("who asks again and again, awaiting nothing else, lets the service do its work all the same", async (t) => {
  const { service } = await world(t, { clock: "10000x" });
  const client = service.client({ apiKey: keyOf("owner") });
  const project = await client.projects.create({ name: "web", region: "eu-west-1" });
  const { id } = await client.deployments.create({ project_id: project.id, environment: "production", source: git });
  const headers = bearer(keyOf("owner"));
  const most = 1e6;
  const asked = async (ask: () => Promise<unknown>, until: (status: string) => boolean) => {
    for (let i = 0; i < most; i++) if (until(((await ask()) as { status: string }).status)) return i;
    return most;
  };
  assert.ok(
    (await asked(
      () => client.deployments.get({ id }),
      (status) => status !== "queued",
    )) < most,
  );
  const fetched = async () => (await service.fetch(`/v1/deployments/${id}`, { headers })).json();
  assert.ok((await asked(fetched, (status) => status === "active")) < most);
});

test("an aborted call does nothing, and one that waits rejects at once, as with fetch", async (t) => {
  const here = await world(t);
  const headers = { ...bearer(keyOf("owner")), "content-type": "application/json" };
  const body = JSON.stringify({ name: "ghost", region: "eu" });
  const { fetch } = here.service;
  const { id } = await here.deploy((await here.project()).id);
  const client = insideOf(here);
  const [reason, signal] = [{ name: "AbortError" }, AbortSignal.abort()];
  await assert.rejects(fetch("/v1/projects", { method: "POST", headers, body, signal }), reason);
  await assert.rejects(fetch(new Request("http://localhost/v1/me", { headers, signal })), reason);
  await assert.rejects(client.projects.create({ name: "ghost", region: "eu" }, { signal }), reason);
  assert.equal((await client.projects.list()).data.length, 1);

  // Faults and work wait for a clock that stands.
  here.service.faults.add({ match: { path: "/v1/me" }, respond: { delay: "1m" } });
  const waits: ((signal: AbortSignal) => Promise<unknown>)[] = [
    (signal) => fetch(`/v1/deployments/${id}?wait=60`, { headers, signal }),
    (signal) => client.deployments.get({ id, wait: 60 }, { signal }),
    (signal) => fetch("/v1/me", { headers, signal }),
    (signal) => client.me.get({}, { signal }),
    (signal) =>
      fetch(`/v1/deployments/${id}/logs?follow=true`, { headers, signal }).then((response) => response.text()),
    async (signal) => {
      for await (const _ of client.followLogs(id, { signal }));
    },
  ];
  for (const wait of waits) {
    const control = new AbortController();
    const waiting = wait(control.signal);
    await yieldToEventLoop();
    control.abort(new Error("enough"));
    await assert.rejects(waiting, { message: "enough" }, String(wait));
  }
});

test("an aborted call gets no answer, and a closed service says so", async (t) => {
  const here = await world(t);
  const client = insideOf(here);
  const project = await client.projects.create({ name: "web", region: "eu-west-1" });
  const { id } = await client.deployments.create({ project_id: project.id, environment: "production", source: git });
  const control = new AbortController();
  const waiting = client.waitUntilDone("deployments", id, { signal: control.signal });
  control.abort(new Error("no patience"));
  await assert.rejects(waiting, { message: "no patience" });
  await assert.rejects(client.projects.list({}, { signal: control.signal }), { message: "no patience" });
  await here.service.close();
  assert.equal((await problemOf(client.projects.list())).code, "unavailable");
});

test("it continues in a restored state, and a fork has its own", withSnapshots, async (t) => {
  const here = await world(t);
  const client = insideOf(here);
  const { id } = await here.service.snapshot();
  await client.projects.create({ name: "web", region: "eu-west-1" });
  const fork = await here.service.fork();
  t.after(fork.close);
  await here.service.restore(id);
  assert.deepEqual((await client.projects.list()).data, []);
  assert.equal((await fork.client({ apiKey: keyOf("owner") }).projects.list()).data.length, 1);
});

test("a log is followed without a port, and a call of no operation is refused by its name", async (t) => {
  const here = await world(t);
  const client = insideOf(here);
  const { id } = await here.deploy((await here.project()).id);
  await here.service.clock.advance("10s");
  const followed = [];
  for await (const entry of client.followLogs(id)) followed.push(entry);
  assert.deepEqual(followed, (await client.deployments.logs({ id })).data);
  await assert.rejects(client.call("projects.explode"), { message: "no operation is called projects.explode" });
});
