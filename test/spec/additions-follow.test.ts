import assert from "node:assert/strict";
import { test } from "node:test";
import { simulatedDeployments } from "../../lib/index.ts";
import { bearer } from "../helpers/headers.ts";
import { member, withMembers } from "../helpers/members.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { follow, followAt } from "../helpers/server-sent-events.ts";
import { expect, keyOf, type World, world } from "../helpers/test-service.ts";

const made = async (here: World) => (await here.deploy((await here.project()).id)).id as string;
const logsOf = async (here: World, id: string) =>
  expect(await here.call("owner", "GET", `/v1/deployments/${id}/logs`), 200).data;

test("A followed log sends each entry as a numbered event, and ends with the state", async (t) => {
  const here = await world(t);
  const id = await made(here);
  const log = await follow(here, id);
  assert.equal(log.response.headers.get("content-type"), "text/event-stream");
  assert.equal(log.response.headers.get("cache-control"), "no-store");
  assert.match(log.response.headers.get("x-request-id") ?? "", /^req_/);
  assert.match(log.response.headers.get("x-ratelimit-remaining") ?? "", /^\d+$/);
  await log.take(1);
  const all = log.take();
  await here.service.clock.advance("1m");
  const entries = (await all).slice(0, -1);
  assert.deepEqual(
    entries.map(({ data }) => data),
    await logsOf(here, id),
  );
  assert.deepEqual(
    entries.map(({ id }) => id),
    entries.map((_, i) => String(i)),
  );
  assert.deepEqual((await all).at(-1), { id: undefined, event: "end", data: { status: "active" } });
});

test("An entry is sent when it is written, and not later", async (t) => {
  const here = await world(t);
  const log = await follow(here, await made(here));
  assert.deepEqual(
    (await log.take(1)).map(({ data }) => data.message),
    ["Queued"],
  );
  const next = log.take(2);
  await here.service.clock.advance("1s");
  assert.equal((await next)[1]?.data.message, "Build started");
});

test("A complete log is sent whole and ends; Last-Event-ID leaves out the entries that were received", async (t) => {
  const here = await world(t);
  const id = await made(here);
  await here.service.clock.advance("1m");
  const entries = await logsOf(here, id);
  for (const known of [undefined, 0, 3, entries.length - 1]) {
    const log = await follow(here, id, { ...bearer("sk_live_demo_owner"), "last-event-id": String(known ?? "") });
    const received = await log.take();
    assert.deepEqual(
      received.slice(0, -1).map(({ data }) => data),
      entries.slice((known ?? -1) + 1),
    );
    assert.equal(received.at(-1)?.event, "end");
  }
});

test("A Last-Event-ID that the log never gave is told in an entry, and the stream goes on from the present", async (t) => {
  const here = await world(t);
  const id = await made(here);
  const after = (known: string) => ({ ...bearer(keyOf("owner")), "last-event-id": known });
  const log = await follow(here, id, after("5"));
  const [told] = await log.take(1);
  assert.deepEqual([told?.id, told?.event, told?.data.level], ["0", "message", "warn"]);
  assert.match(told?.data.message, /^This log has no entry 5: the service was reset or restored\. New entries follow$/);
  const rest = log.take();
  await here.service.clock.advance("1m");
  assert.deepEqual(
    (await rest).slice(1, -1).map(({ data }) => data),
    (await logsOf(here, id)).slice(1),
  );
  const environment = `/v1/projects/${(await here.project("other")).id}/environments/stage`;
  expect(await here.call("owner", "PUT", environment, { variables: {} }), 200);
  const empty = await (await followAt(here, `${environment}/logs?follow=true`, after("0"))).take();
  assert.deepEqual(
    empty.map(({ id, event }) => [id, event]),
    [
      ["", "message"],
      [undefined, "end"],
    ],
  );
});

test("A long log is sent whole and in order, at any pace", async (t) => {
  const logs = Array.from({ length: 1_234 }, (_, i) => ({ level: "info" as const, message: `line ${i}` }));
  const driver = simulatedDeployments(() => ({ result: "succeed", logs }));
  const here = await world(t, { deployments: { driver } });
  const id = await made(here);
  const log = await follow(here, id);
  await here.service.clock.advance("1m");
  const received = (await log.take()).slice(0, -1);
  assert.ok(received.length > 1_234);
  assert.deepEqual(
    received.map(({ data }) => data),
    await logsOf(here, id),
  );
});

test("follow=false is the ordinary list, and anything else is refused", async (t) => {
  const here = await world(t);
  const id = await made(here);
  assert.equal((await here.call("owner", "GET", `/v1/deployments/${id}/logs?follow=false`)).body.data.length, 1);
  for (const wrong of ["yes", "", "1", "true&follow=true"]) {
    const { status, body } = await here.call("owner", "GET", `/v1/deployments/${id}/logs?follow=${wrong}`);
    assert.deepEqual([status, body.error.details[0].path], [422, "follow"]);
  }
});

test("A caller without the right, or with a wrong request, gets the ordinary problems", async (t) => {
  const here = await world(t);
  const path = `/v1/deployments/${await made(here)}/logs?follow=true`;
  expect(await here.call("nobody", "GET", path), 401);
  expect(await here.call("nobody", "GET", path, undefined, bearer("sk_live_wrong")), 401);
  expect(await here.call("stranger", "GET", path), 404);
  expect(await here.call("owner", "GET", "/v1/deployments/dep_01ARZ3NDEKTSV4RRFFQ69G5FAV/logs?follow=true"), 404);
  for (const wrong of ["x", "-1", "1.5", "9999999999"]) {
    const { status, body } = await here.call("owner", "GET", path, undefined, { "last-event-id": wrong });
    assert.deepEqual([status, body.error.details[0].path], [422, "Last-Event-ID"]);
  }
});

test("HEAD has the headers of the stream and no body", async (t) => {
  const here = await world(t);
  const id = await made(here);
  const head = await here.service.fetch(`/v1/deployments/${id}/logs?follow=true`, {
    method: "HEAD",
    headers: bearer("sk_live_demo_owner"),
  });
  assert.deepEqual([head.status, head.headers.get("content-type")], [200, "text/event-stream"]);
  assert.equal(await head.text(), "");
});

const leavers = withMembers(
  member("leaver", "viewer"),
  member("removed", "viewer"),
  member("passing", "viewer", { expires_at: "2026-01-01T00:00:00.500Z" }),
);

test("A stream ends with its key: suspended, removed, expired", async (t) => {
  const here = await world(t, { seed: leavers });
  const id = await made(here);
  const { data } = expect(await here.call("owner", "GET", "/v1/users"), 200);
  const userOf = (wanted: string) => data.find(({ name }: { name: string }) => name === wanted).id;
  const ends: Record<string, () => Promise<unknown>> = {
    leaver: async () => expect(await here.call("owner", "POST", `/v1/users/${userOf("leaver")}/suspend`), 200),
    removed: async () => expect(await here.call("owner", "DELETE", `/v1/users/${userOf("removed")}`), 204),
    passing: () => here.service.clock.advance("500ms"),
  };
  const other = await follow(here, id);
  await other.take(1);
  for (const [name, end] of Object.entries(ends)) {
    const log = await follow(here, id, bearer(`sk_live_${name}`));
    await log.take(1);
    const rest = log.take();
    await end();
    const last = (await rest).at(-1);
    assert.deepEqual([last?.event, last?.data.code], ["problem", "unauthorized"], name);
  }
  const rest = other.take();
  await here.service.clock.advance("1m");
  assert.equal((await rest).at(-1)?.event, "end", "the others go on");
});

test("A stream ends with 404 where its project is deleted", async (t) => {
  const here = await world(t);
  const project = await here.project();
  const log = await follow(here, (await here.deploy(project.id)).id);
  await log.take(1);
  const rest = log.take();
  expect(await here.call("owner", "DELETE", `/v1/projects/${project.id}`), 204);
  assert.equal((await rest).at(-1)?.data.code, "not_found");
});

test("close() ends a stream with an event", async (t) => {
  const here = await world(t);
  const log = await follow(here, await made(here));
  await log.take(1);
  const rest = log.take();
  await here.service.close();
  const last = (await rest).at(-1);
  assert.deepEqual([last?.event, last?.data.code], ["problem", "unavailable"]);
});

test("The followed log of an environment ends at once where deployments are simulated, because nothing prints", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const environment = `/v1/projects/${id}/environments/stage`;
  expect(await here.call("owner", "PUT", environment, { variables: {} }), 200);
  const log = await followAt(here, `${environment}/logs?follow=true`);
  assert.deepEqual(await log.take(), [{ id: undefined, event: "end", data: { status: "simulated" } }]);
});

test("A comment every 15 seconds keeps the stream alive, and a reader who reads nothing is dropped", async (t) => {
  const here = await world(t);
  const id = await made(here);
  mockTime(t, { apis: ["setTimeout"] });
  const log = await follow(here, id);
  const idle = await follow(here, id);
  await log.take(1);
  const more = log.take(2);
  for (let i = 0; i < 4; i++) {
    t.mock.timers.tick(15_000);
    await new Promise((go) => setImmediate(go));
  }
  assert.equal(log.raw().match(/^: still here$/gm)?.length, 4);
  await assert.rejects(idle.take(), /read nothing for half a minute/);
  await log.cancel();
  await more;
});
