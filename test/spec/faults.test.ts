import assert from "node:assert/strict";
import { test } from "node:test";
import type { NewFault } from "../../lib/index.ts";
import { pathsOf } from "../helpers/deployments.ts";
import { expect, keyOf, type World, world } from "../helpers/test-service.ts";

const path = "/_svc/faults";
const authorization = `Bearer ${keyOf("owner")}`;
const headers = { authorization, "content-type": "application/json" };
const post = (here: World, body: unknown) => here.call("nobody", "POST", path, body);
const me = (here: World, init: RequestInit = {}) => here.service.fetch("/v1/me", { headers, ...init });
/** Asserts the form of an answer; returns its status and code. */
async function statusAndCode(response: Response) {
  const { error, meta } = (await response.json()) as { error?: { code: string }; meta: { request_id: string } };
  assert.equal(meta.request_id, response.headers.get("x-request-id"));
  assert.match(response.headers.get("x-ratelimit-limit") ?? "", /^\d+$/);
  return [response.status, error?.code];
}

test("an error in the form of the interface, for matching requests alone", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const given = { match: { method: "GET", path: "/v1/projects/*" }, respond: { status: 503, code: "unavailable" } };
  const { meta: _, ...kept } = expect(await post(here, given), 200);
  assert.deepEqual(kept, { id: "fault_1", ...given, nth: null, times: null, used: 0 });
  const call = (method: string, path: string, init: RequestInit = {}) =>
    here.service.fetch(path, { method, headers, ...init });
  assert.deepEqual(await statusAndCode(await call("GET", `/v1/projects/${id}`)), [503, "unavailable"]);
  assert.deepEqual(await statusAndCode(await call("GET", `/v1/projects/${id}?a=1`)), [503, "unavailable"]);
  assert.equal((await call("GET", "/v1/projects")).status, 200);
  assert.equal((await call("PUT", `/v1/projects/${id}`, { body: '{"name":"api"}' })).status, 200);
  assert.deepEqual(expect(await here.call("nobody", "GET", path), 200).data, [
    { id: "fault_1", ...given, nth: null, times: null, used: 2 },
  ]);
  assert.deepEqual(expect(await here.call("nobody", "DELETE", path), 200).data, []);
  assert.equal((await call("GET", `/v1/projects/${id}`)).status, 200);
});

test("status and code imply each other", async (t) => {
  const cases: [respond: NewFault["respond"], status: number, code: string][] = [
    [{ status: 503 }, 503, "unavailable"],
    [{ status: 500 }, 500, "internal_error"],
    [{ status: 429 }, 429, "rate_limited"],
    [{ status: 409 }, 409, "name_taken"],
    [{ status: 502 }, 502, "fault"],
    [{ code: "name_taken" }, 409, "name_taken"],
    [{ code: "teapot" }, 500, "teapot"],
    [{ status: 418, code: "teapot" }, 418, "teapot"],
    [{ status: 599, code: "not_found" }, 599, "not_found"],
  ];
  const here = await world(t);
  for (const [respond, status, code] of cases) {
    here.service.faults.clear();
    here.service.faults.add({ respond });
    assert.deepEqual(await statusAndCode(await me(here)), [status, code]);
  }
});

test("headers override those of the answer, usual or not", async (t) => {
  const here = await world(t);
  const given = { "Retry-After": "7", "x-ratelimit-remaining": "0", "X-Proxy": "b" };
  here.service.faults.add({ respond: { status: 429, headers: given }, times: 1 });
  here.service.faults.add({ respond: { headers: { "x-proxy": "a" } }, times: 1 });
  const refused = await me(here);
  assert.deepEqual(
    ["retry-after", "x-ratelimit-remaining", "x-proxy"].map((name) => refused.headers.get(name)),
    ["7", "0", "b"],
  );
  const usual = await me(here);
  assert.deepEqual([usual.status, usual.headers.get("x-proxy")], [200, "a"]);
});

test("times and nth count, and the first match wins", async (t) => {
  const here = await world(t);
  const { faults } = here.service;
  faults.add({ match: { path: "/v1/me" }, respond: { status: 503 }, nth: 2, times: 2 });
  faults.add({ respond: { status: 500 }, nth: 4 });
  const statuses = [];
  for (let i = 0; i < 7; i++) statuses.push((await me(here)).status);
  // The first fault answers two calls, which the second fault does not count.
  assert.deepEqual(statuses, [200, 503, 503, 200, 200, 500, 200]);
  assert.deepEqual(
    faults.list().map(({ used }) => used),
    [2, 1],
  );
});

test("a delay ends when either clock shows it: the service's", async (t) => {
  const here = await world(t);
  here.service.faults.add({ respond: { delay: "60s" }, times: 1 });
  const answers: number[] = [];
  const answered = me(here).then(({ status }) => answers.push(status));
  await here.service.clock.advance("59s");
  assert.deepEqual(answers, []);
  await here.service.clock.advance("1s");
  await answered;
  assert.deepEqual(answers, [200]);
});

test("a delay ends when either clock shows it: the machine's", async (t) => {
  const here = await world(t);
  here.service.faults.add({ respond: { status: 503, delay: "20ms" } });
  assert.deepEqual(await statusAndCode(await me(here)), [503, "unavailable"]);
});

test("a client that aborts a delayed request gets its reason, and close() answers the others", async (t) => {
  const here = await world(t);
  here.service.faults.add({ respond: { delay: "60s" } });
  const control = new AbortController();
  const gone = me(here, { signal: control.signal });
  const waiting = me(here);
  control.abort(new Error("too slow"));
  await assert.rejects(gone, { message: "too slow" });
  await here.service.close();
  assert.deepEqual(await statusAndCode(await waiting), [503, "unavailable"]);
});

test("a dropped connection: nothing was done", async (t) => {
  const here = await world(t);
  here.service.faults.add({ match: { method: "POST" }, respond: { drop: true }, times: 2 });
  const { url } = await here.service.listen();
  const body = JSON.stringify({ name: "web", region: "eu" });
  const create = { method: "POST", headers, body };
  await assert.rejects(here.service.fetch("/v1/projects", create), { name: "TypeError", message: "fetch failed" });
  await assert.rejects(fetch(`${url}/v1/projects`, create), { name: "TypeError", message: "fetch failed" });
  assert.deepEqual(await here.events(), []);
  assert.equal((await fetch(`${url}/v1/projects`, create)).status, 201);
});

test("a truncated answer: the work is done, and half of its answer arrives", async (t) => {
  const here = await world(t);
  here.service.faults.add({ match: { method: "POST" }, respond: { truncate: true }, times: 2 });
  const { url } = await here.service.listen();
  const fetches = [here.service.fetch, (path: string, init: RequestInit) => fetch(url + path, init)];
  for (const [i, ask] of fetches.entries()) {
    const body = JSON.stringify({ name: `web ${i}`, region: "eu" });
    const response = await ask("/v1/projects", { method: "POST", headers, body });
    assert.equal(response.status, 201);
    const chunks: Uint8Array[] = [];
    await assert.rejects(async () => {
      for await (const chunk of response.body ?? []) chunks.push(chunk);
    }, TypeError);
    assert.equal(Buffer.concat(chunks).length, Math.floor(Number(response.headers.get("content-length")) / 2));
  }
  assert.deepEqual(await here.events(), ["project.created", "project.created"]);
});

test("an idempotent retry after a lost answer replays it", async (t) => {
  const here = await world(t);
  here.service.faults.add({ match: { method: "POST" }, respond: { truncate: true }, times: 1 });
  const create = () =>
    here.service.fetch("/v1/projects", {
      method: "POST",
      headers: { ...headers, "idempotency-key": "k1" },
      body: JSON.stringify({ name: "web", region: "eu" }),
    });
  await assert.rejects((await create()).text());
  const again = await create();
  assert.deepEqual([again.status, again.headers.get("idempotent-replayed")], [201, "true"]);
  assert.deepEqual(await here.events(), ["project.created"]);
});

test("a truncated stream breaks off, and a HEAD has nothing to break", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  here.service.faults.add({ respond: { truncate: true } });
  const logs = `/v1/deployments/${deployment.id}/logs?follow=true`;
  const { url } = await here.service.listen();
  const open = async () =>
    /svc_streams_open\{kind="sse"\} (\d+)/.exec(await (await fetch(`${url}/metrics`)).text())?.[1];
  await assert.rejects(here.service.fetch(logs, { headers }), { message: "fetch failed" });
  assert.equal(await open(), "0", "nothing waits for the deployment any more");
  await assert.rejects(fetch(url + logs, { headers }), TypeError);
  assert.equal(await open(), "0");
  await assert.rejects(me(here, { method: "DELETE" }).then((response) => response.text()));
  for (const head of [await me(here, { method: "HEAD" }), await fetch(`${url}/v1/me`, { method: "HEAD", headers })]) {
    assert.deepEqual([head.status, await head.text()], [200, ""]);
    assert.ok(Number(head.headers.get("content-length")) > 0);
  }
});

test("faults come before the key is checked, and never meet the control interface", async (t) => {
  const here = await world(t);
  here.service.faults.add({ match: { path: "*" }, respond: { status: 503 } });
  assert.deepEqual(await statusAndCode(await here.service.fetch("/v1/me")), [503, "unavailable"]);
  expect(await here.call("nobody", "GET", "/_svc/clock"), 200);
  expect(await here.call("nobody", "GET", "/nothing"), 404);
});

test("a wrong fault is 422 with its place, and none is stored", async (t) => {
  const here = await world(t);
  const fault = { status: 503 };
  const refused: [string, unknown, string][] = [
    ["no answer", {}, "respond"],
    ["an answer that says nothing", { respond: {} }, "respond"],
    ["an unknown field", { respond: { ...fault, body: "x" } }, "respond.body"],
    ["a status that is no error", { respond: { status: 200 } }, "respond.status"],
    ["a status that is none", { respond: { status: 600 } }, "respond.status"],
    ["a status as text", { respond: { status: "503" } }, "respond.status"],
    ["half a status", { respond: { status: 500.5 } }, "respond.status"],
    ["a code with spaces", { respond: { code: "not found" } }, "respond.code"],
    ["a delay without a unit", { respond: { delay: "2" } }, "respond.delay"],
    ["a delay of more than a minute", { respond: { delay: "61s" } }, "respond.delay"],
    ["a drop that is false", { respond: { drop: false } }, "respond.drop"],
    ["a drop that answers", { respond: { drop: true, status: 503 } }, "respond.drop"],
    ["headers that are no object", { respond: { headers: "x" } }, "respond.headers"],
    ["a header that is no text", { respond: { headers: { a: 1 } } }, "respond.headers.a"],
    ["a line break in a header", { respond: { headers: { a: "1\r\nb: 2" } } }, "respond.headers.a"],
    ["a header without a name", { respond: { headers: { "": "1" } } }, "respond.headers."],
    [
      "a header that frames the answer",
      { respond: { headers: { "Content-Length": "1" } } },
      "respond.headers.Content-Length",
    ],
    ["the request's id", { respond: { headers: { "x-request-id": "1" } } }, "respond.headers.x-request-id"],
    ["an unknown method", { match: { method: "get" }, respond: fault }, "match.method"],
    ["an empty path", { match: { path: "" }, respond: fault }, "match.path"],
    ["a path of the control interface", { match: { path: "/_svc/*" }, respond: fault }, "match.path"],
    ["an unknown field to match", { match: { url: "/v1/me" }, respond: fault }, "match.url"],
    ["no times", { respond: fault, times: 0 }, "times"],
    ["the zeroth call", { respond: fault, nth: 0 }, "nth"],
    ["times as text", { respond: fault, times: "2" }, "times"],
  ];
  for (const [what, body, place] of refused) {
    await t.test(what, async () => {
      assert.ok(pathsOf(expect(await post(here, body), 422)).includes(place));
    });
  }
  for (const respond of [{ status: 200 }, { status: undefined }])
    assert.throws(() => here.service.faults.add({ respond }), { code: "validation_failed" });
  assert.deepEqual(here.service.faults.list(), []);
  assert.equal((await me(here)).status, 200);
});

test("the mode start has no faults", async (t) => {
  const here = await world(t, { mode: "start", clock: "real", random: undefined });
  assert.throws(() => here.service.faults, /mode dev/);
  for (const method of ["GET", "POST", "DELETE"])
    expect(await here.call("nobody", method, path, method === "POST" ? { respond: { status: 503 } } : undefined), 404);
});
