import assert from "node:assert/strict";
import { test } from "node:test";
import { createOutbound } from "../../lib/drivers/outbound/outbound.ts";
import { createInbox } from "../../lib/emulator/instruments/inbox.ts";
import { createSinks } from "../../lib/emulator/instruments/sinks.ts";
import type { Caught } from "../../lib/index.ts";
import { pathsOf } from "../helpers/deployments.ts";
import { expect, start, type World, world } from "../helpers/test-service.ts";

const inbox = "/_svc/inbox";

/** A webhook to the inbox NAME for new projects. */
const hook = async (here: World, name = "hook", more: object = {}) =>
  expect(
    await here.call("owner", "POST", "/v1/webhooks", {
      ...{ url: `https://${name}.inbox.test/in?a=1`, events: ["project.created"], ...more },
    }),
    201,
  );

const caught = async (here: World, query = ""): Promise<Caught[]> =>
  expect(await here.call("nobody", "GET", `${inbox}${query}`), 200).data;

const script = (here: World, name: string, responses: unknown) =>
  here.call("nobody", "PUT", `${inbox}/${name}`, { responses });

const attempts = async (here: World, id: string) =>
  expect(await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries`), 200).data[0].attempts;

test("an inbox catches deliveries as their receiver would see them", async (t) => {
  const here = await world(t);
  await hook(here, "hook", { secret: "whsec_demo" });
  const project = await here.project();
  assert.deepEqual(await caught(here), []);
  await here.service.clock.advance("5s");
  const [one, ...others] = await caught(here);
  assert.deepEqual(others, []);
  const { headers, body, ...rest } = one as Caught;
  const url = "https://hook.inbox.test/in?a=1";
  assert.deepEqual(rest, { endpoint: "hook", method: "POST", url, received_at: start, response: 200 });
  assert.deepEqual(
    [headers["content-type"], headers["x-service-event"], headers["x-service-attempt"]],
    ["application/json", "project.created", "1"],
  );
  assert.match(headers["x-service-signature"] ?? "", /^sha256=[0-9a-f]{64}$/);
  assert.equal(JSON.parse(body).data.project_id, project.id);
  assert.deepEqual(here.service.inbox.list(), [one]);
});

test("an inbox is read by its name and cleared; its script stays", async (t) => {
  const here = await world(t);
  await hook(here, "one");
  await hook(here, "two");
  expect(await script(here, "two", [500]), 200);
  expect(await here.call("nobody", "DELETE", inbox), 200);
  await here.project();
  await here.service.settle();
  const names = async (query: string) => (await caught(here, query)).map(({ endpoint }) => endpoint);
  assert.deepEqual((await names("")).sort(), ["one", "two"]);
  assert.deepEqual(await names("?endpoint=two"), ["two"]);
  assert.deepEqual(await names("?endpoint=TWO"), ["two"], "as PUT takes it, and as host names are compared");
  assert.equal((await here.service.webhooks.waitFor("*", { endpoint: "ONE" })).endpoint, "one");
  assert.deepEqual(await names("?endpoint=three"), []);
  assert.deepEqual(here.service.inbox.list({ endpoint: "two" })[0]?.response, 500);
  assert.deepEqual(expect(await here.call("nobody", "DELETE", inbox), 200).data, []);
  assert.deepEqual(await caught(here), []);
});

test("scripted answers are given in order, then 200", async (t) => {
  const here = await world(t);
  const { id } = await hook(here);
  const responses = [500, { status: 503, headers: { "retry-after": "5" }, body: "busy" }, { drop: true }];
  const answer = expect(await script(here, "HOOK", responses), 200);
  assert.deepEqual([answer.endpoint, answer.responses], ["hook", responses]);
  await here.project();
  await here.service.clock.advance("3h");
  assert.deepEqual(
    (await caught(here)).map(({ response }) => response),
    [...responses, 200],
  );
  assert.deepEqual(
    (await attempts(here, id)).map((one: { status: number; error: string; response: string }) => [
      one.status,
      one.error,
      one.response,
    ]),
    [
      [500, null, ""],
      [503, null, "busy"],
      [null, "connection reset", null],
      [200, null, ""],
    ],
  );
});

test("a script replaces the one before it, and an empty one ends it", async (t) => {
  const here = await world(t);
  await hook(here);
  here.service.inbox.script("hook", [500, 500]);
  expect(await script(here, "hook", []), 200);
  await here.project();
  await here.service.settle();
  assert.deepEqual((await caught(here))[0]?.response, 200);
});

test("a function answers before the script, and its traffic is in the inbox", async (t) => {
  const here = await world(t);
  await hook(here);
  here.service.inbox.script("hook", [500]);
  here.service.webhooks.sink("hook", () => new Response("taken", { status: 202 }));
  await here.project();
  await here.service.settle();
  assert.deepEqual(
    (await caught(here)).map(({ response }) => response),
    [202],
  );
});

test("a listed delivery is a copy, and changing it changes nothing", async (t) => {
  const here = await world(t);
  await hook(here);
  await here.project();
  await here.service.settle();
  Object.assign(here.service.inbox.list()[0] ?? {}, { body: "changed" });
  assert.notEqual(here.service.inbox.list()[0]?.body, "changed");
});

const inboxAlone = () =>
  createInbox({ network: createOutbound({ mode: "dev" }), now: () => start, log: console, sinks: createSinks() });

test("the last 1,000 are stored", async () => {
  const inbox = inboxAlone();
  for (let i = 0; i <= 1000; i++) await inbox.send({ url: "https://hook.inbox.test", headers: {}, body: String(i) });
  const bodies = inbox.list().map(({ body }) => body);
  assert.deepEqual([bodies.length, bodies[0], bodies.at(-1)], [1000, "1", "1000"]);
  await inbox.close();
});

test("later deliveries do not change a saved state", async () => {
  const inbox = inboxAlone();
  const request = { url: "https://hook.inbox.test", headers: {}, body: "one" };
  inbox.script("hook", [500, 503]);
  await inbox.send(request);
  const kept = inbox.save();
  await inbox.send(request);
  inbox.clear();
  inbox.load(kept);
  assert.deepEqual(
    inbox.list().map(({ response }) => response),
    [500],
  );
  assert.equal((await inbox.send(request)).status, 503);
  assert.equal((await inbox.send(request)).status, 200);
  await inbox.close();
});

test("bad answers are 422 with their place, and change nothing", async (t) => {
  const here = await world(t);
  await hook(here);
  expect(await script(here, "hook", [500]), 200);
  const refused: [string, unknown, string][] = [
    ["no list", 500, "responses"],
    ["none", undefined, "responses"],
    ["a status that is none", [99], "responses.0"],
    ["an informational status", [200, 100], "responses.1"],
    ["a fraction", [200.5], "responses.0"],
    ["text", ["500"], "responses.0"],
    ["an object that says nothing", [{}], "responses.0"],
    ["a time-out that is false", [{ timeout: false }], "responses.0"],
    ["two things at once", [{ timeout: true, drop: true }], "responses.0"],
    ["an unknown field", [{ status: 500, reason: "x" }], "responses.0"],
    ["null", [null], "responses.0"],
    ["1,001 answers", new Array(1001).fill(500), "responses"],
  ];
  for (const [what, responses, path] of refused) {
    await t.test(what, async () => {
      const answer = expect(await script(here, "hook", responses), 422);
      assert.equal(answer.error.code, "validation_failed");
      assert.ok(pathsOf(answer)[0]?.startsWith(path), JSON.stringify(answer.error));
    });
  }
  await t.test("a name that is no valid host", async () => {
    for (const name of ["a.b", "-a", "a_b", "%20", "x".repeat(64)])
      assert.deepEqual(pathsOf(expect(await script(here, name, [500]), 422)), ["name"]);
    assert.throws(() => here.service.inbox.script("a.b", []), { name: "Problem" });
    assert.throws(() => here.service.webhooks.sink("a b", () => new Response()), { name: "Problem" });
  });
  await here.project();
  await here.service.settle();
  assert.deepEqual((await caught(here))[0]?.response, 500);
});

test("the mode start has no inbox", async (t) => {
  const { service } = await world(t, { mode: "start", clock: "real", random: undefined });
  assert.throws(() => service.inbox, /mode dev/);
  assert.throws(() => service.webhooks, /mode dev/);
});
