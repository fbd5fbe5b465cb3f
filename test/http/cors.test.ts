import assert from "node:assert/strict";
import { test } from "node:test";
import { createService } from "../../lib/index.ts";
import { type ListeningWorld, listeningWorld, owner, type RequestParts } from "../helpers/raw-sockets.ts";
import { keyOf } from "../helpers/test-service.ts";

/** CONTRACT section 1, "CORS". */

const page = "http://localhost:5173";
const allow = "access-control-allow-origin";

/** Sends a request as a page of this origin would. */
const from = (
  here: ListeningWorld,
  origin: string,
  method: string,
  path: string,
  { headers, ...more }: RequestParts = {},
) => here.send(method, path, { ...more, headers: { ...owner, origin, ...headers } });

const preflight = (here: ListeningWorld, origin: string, path: string, asked = "authorization,content-type,x-custom") =>
  here.send("OPTIONS", path, {
    headers: {
      ...{ authorization: "", origin, "access-control-request-method": "POST" },
      "access-control-request-headers": asked,
    },
  });

const json = { "content-type": "application/json" };

test("the origins of apps, whose schemes are their own, can be listed", async (t) => {
  const here = await listeningWorld(t, { cors: ["capacitor://localhost", "TAURI://localhost"] });
  for (const origin of ["capacitor://localhost", "tauri://localhost"])
    assert.equal((await from(here, origin, "GET", "/v1/me")).headers[allow], origin);
  for (const origin of ["ionic://localhost", "capacitor://localhost:1", "null"])
    assert.equal((await from(here, origin, "GET", "/v1/me")).headers[allow], undefined, origin);
  for (const cors of [["capacitor://"], ["capacitor://localhost/x"], ["file://x"], ["capacitor:localhost"]])
    await assert.rejects(createService({ cors }), /must be a whole origin such as https:.* or capacitor:/);
});

test("a page on loopback reads every answer under /v1 in dev, errors and streams too", async (t) => {
  const here = await listeningWorld(t, { rateLimit: 8 });
  const body = JSON.stringify({ name: "web", region: "eu-west-1" });
  const { id } = (await from(here, page, "POST", "/v1/projects", { headers: json, body })).body;
  const { id: deployment } = await here.deploy(id);
  await here.service.clock.advance("1h");
  here.service.faults.add({ match: { path: "/v1/events" }, respond: { status: 503 }, times: 1 });
  const answers = [
    [200, "GET", "/v1/me"],
    [200, "HEAD", "/v1/me"],
    [422, "POST", "/v1/projects", { headers: json, body: "{}" }],
    [401, "GET", "/v1/me", { headers: { authorization: "Bearer none" } }],
    [404, "GET", "/v1/nothing"],
    [405, "PATCH", "/v1/projects"],
    [200, "GET", `/v1/deployments/${deployment}/logs?follow=true`],
    [204, "DELETE", `/v1/projects/${id}`],
    [426, "GET", "/v1/stream"],
    [429, "GET", "/v1/me"],
    [503, "GET", "/v1/events"],
  ] as const;
  for (const [status, method, path, more] of answers) {
    const got = await from(here, page, method, path, more);
    assert.equal(got.status, status, `${method} ${path} ${got.text}`);
    assert.deepEqual([got.headers[allow], got.headers.vary], [page, "Origin"], path);
    assert.equal(
      got.headers["access-control-expose-headers"],
      "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Location, Idempotent-Replayed",
    );
    assert.equal(got.headers["access-control-allow-credentials"], undefined);
  }
});

test("a fault may send other headers of CORS", async (t) => {
  const here = await listeningWorld(t);
  const given = { [allow]: "https://other.example", vary: "Accept" };
  here.service.faults.add({ respond: { headers: given }, times: 1 });
  const { headers } = await from(here, page, "GET", "/v1/me");
  assert.deepEqual([headers[allow], headers.vary], Object.values(given));
});

test("a preflight is 204 without a key, and counts in no window", async (t) => {
  const here = await listeningWorld(t, { addressRateLimit: 1 });
  here.service.faults.add({ match: { path: "/v1/**" }, respond: { status: 503 }, times: 1 });
  for (const path of ["/v1/projects", "/v1/nothing", "/v1"]) {
    const { status, headers, text } = await preflight(here, page, path);
    assert.deepEqual([status, text], [204, ""]);
    assert.deepEqual([headers[allow], headers.vary], [page, "Origin"]);
    assert.equal(headers["access-control-allow-headers"], "authorization,content-type,x-custom");
    assert.match(headers["access-control-allow-methods"] ?? "", /^GET, HEAD, POST, PUT, PATCH, DELETE$/);
    assert.match(headers["x-request-id"] as string, /^req_/);
    assert.equal(headers["x-ratelimit-remaining"], "1");
  }
  assert.equal(here.service.faults.list()[0]?.used, 0, "a fault waits for the call itself");
  const other = await preflight(here, "https://evil.example", "/v1/projects");
  assert.deepEqual([other.status, other.headers[allow]], [503, undefined]);
  const misdirected = await here.send("OPTIONS", "/v1/me", {
    headers: { origin: page, host: "evil.example", "access-control-request-method": "GET" },
  });
  assert.equal(misdirected.status, 421);
});

test("in dev every loopback origin is allowed, and no other", async (t) => {
  const here = await listeningWorld(t);
  const allowed = ["http://127.0.0.1", "https://[::1]:8443", "http://app.localhost:3000", "http://127.9.9.9:1"];
  const others = [
    "https://example.com",
    "http://localhost.example.com",
    "http://127.0.0.1.example.com",
    "http://10.0.0.1",
    "null",
    "localhost",
    "http://localhost:3000/",
    "",
  ];
  for (const origin of [...allowed, ...others]) {
    const { status, headers } = await from(here, origin, "GET", "/v1/me");
    assert.deepEqual([status, headers[allow]], [200, allowed.includes(origin) ? origin : undefined], origin);
  }
  assert.equal((await here.send("GET", "/v1/me")).headers[allow], undefined);
});

test("the option names the origins, and start allows none without it", async (t) => {
  const start = { mode: "start", clock: "real", random: undefined } as const;
  const seen = async (here: ListeningWorld) => {
    const origins = [page, "https://app.example.com", "https://app.example.com:8443", "null"];
    const got = await Promise.all(origins.map((origin) => from(here, origin, "GET", "/v1/me")));
    return origins.filter((_, i) => got[i]?.headers[allow] !== undefined);
  };
  const hosted = await listeningWorld(t, start);
  assert.deepEqual(await seen(hosted), []);
  const { status, body } = await preflight(hosted, page, "/v1/me");
  assert.deepEqual([status, body.error.code], [401, "unauthorized"]);
  assert.match(body.error.message, /^pages of http:\/\/localhost:5173 must not call .* the option cors$/);
  assert.deepEqual(await seen(await listeningWorld(t, { ...start, cors: ["HTTPS://app.example.com:443/"] })), [
    "https://app.example.com",
  ]);
  assert.deepEqual(await seen(await listeningWorld(t, { ...start, cors: "*" })), [
    page,
    "https://app.example.com",
    "https://app.example.com:8443",
    "null",
  ]);
  assert.deepEqual(await seen(await listeningWorld(t, { cors: [] })), [], "an empty list allows none in dev either");
  const listed = await listeningWorld(t, { cors: ["https://app.example.com"] });
  assert.deepEqual(await seen(listed), ["https://app.example.com"], "a list replaces the loopback origins of dev");
  for (const wrong of ["app.example.com", "https://*.example.com", "https://app.example.com/path", "*.example.com"])
    await assert.rejects(listeningWorld(t, { cors: [wrong] }), /option cors\.0 must be a whole origin such as/, wrong);
  await assert.rejects(
    listeningWorld(t, { cors: "https://app.example.com" as "*" }),
    /option cors must be a list of origins, or "\*"/,
  );
});

test("beside /v1 only asset links are open to pages", async (t) => {
  const here = await listeningWorld(t);
  const made = await here.call("owner", "POST", "/v1/generations", {
    model: "image-draft",
    prompt: "sky",
    resolution: "512",
  });
  await here.service.clock.advance("1m");
  const { body } = await here.call("owner", "GET", `/v1/generations/${made.body.id}`);
  const { pathname, search } = new URL(body.output.url);
  const file = pathname + search;
  const image = await here.send("GET", file, { headers: { origin: page, authorization: "" } });
  assert.deepEqual([image.status, image.headers[allow], image.headers.vary], [200, page, "Origin"]);
  assert.equal((await here.send("GET", `${file}x`, { headers: { origin: page } })).headers[allow], page);
  assert.equal((await here.send("GET", file)).headers.vary, "Origin", "a browser keeps the file");
  assert.equal((await preflight(here, page, file, "range")).status, 204);
  for (const path of ["/healthz", "/metrics", "/hooks/code-host", "/_svc/clock", "/nothing"]) {
    assert.equal((await from(here, page, "GET", path)).headers[allow], undefined, path);
    const asked = await preflight(here, page, path);
    assert.notEqual(asked.status, 204, path);
    assert.equal(asked.headers[allow], undefined, path);
  }
  assert.equal((await from(here, page, "GET", "/_svc/clock")).status, 403);
});

test("a call in process has the headers too", async (t) => {
  const here = await listeningWorld(t);
  const headers = { authorization: `Bearer ${keyOf("owner")}`, origin: page };
  assert.equal((await here.service.fetch("/v1/me", { headers })).headers.get(allow), page);
});
