import assert from "node:assert/strict";
import { test } from "node:test";
import { WebSocket } from "ws";
import { bearer } from "../helpers/headers.ts";
import { type ListeningWorld, listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf, world } from "../helpers/test-service.ts";

const hostedOptions = { mode: "start", clock: "real", random: undefined } as const;
const json = { "content-type": "application/json" };

/** Signs in and returns the cookie. */
async function signedIn({ send }: ListeningWorld, key: string): Promise<Record<string, string>> {
  const reply = await send("POST", "/dashboard/session", { headers: json, body: JSON.stringify({ key }) });
  assert.equal(reply.status, 201, reply.text);
  const [line = ""] = reply.headers["set-cookie"] ?? [];
  return { cookie: line.split(";", 1)[0] ?? "" };
}

/** Connects to the live socket. Returns the kind of the first message, or how the connection failed. */
const opens = (port: number, headers: Record<string, string>, path = "/dashboard/live") =>
  new Promise<string>((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
    socket.once("message", (text) => {
      resolve(JSON.parse(String(text)).kind);
      socket.close();
    });
    socket.once("unexpected-response", (_, { statusCode }) => resolve(String(statusCode)));
    socket.once("error", () => {});
  });

test("start: a key becomes a session, whose cookie is good for the dashboard alone", async (t) => {
  const here = await listeningWorld(t, hostedOptions);
  const { port, send } = here;
  const nobody = { authorization: "" };
  const shell = await send("GET", "/dashboard/projects/proj_1", { headers: nobody });
  assert.equal(shell.status, 200);
  assert.match(String(shell.headers["content-security-policy"]), /default-src 'none'.*trusted-types 'none'/);
  assert.match(shell.text, /<script type="module" src="\/dashboard\/assets\/app-\w+\.js">/);

  assert.equal((await send("GET", "/dashboard/session", { headers: bearer(keyOf("owner")) })).status, 401);
  const wrong = JSON.stringify({ key: "sk_live_of_nobody" });
  assert.equal((await send("POST", "/dashboard/session", { headers: json, body: wrong })).status, 401);
  const plain = { "content-type": "text/plain" };
  assert.equal((await send("POST", "/dashboard/session", { headers: plain, body: wrong })).status, 415);
  assert.equal((await send("POST", "/dashboard/session", { headers: json, body: "{}" })).status, 422);

  const reply = await send("POST", "/dashboard/session", {
    headers: json,
    body: JSON.stringify({ key: keyOf("developer") }),
  });
  assert.match(
    String(reply.headers["set-cookie"]),
    new RegExp(`^svc_${port}=\\w{43}; Path=/dashboard; Max-Age=2592000; HttpOnly; SameSite=Strict$`),
  );
  const cookie = await signedIn(here, keyOf("developer"));
  const me = await send("GET", "/dashboard/session", { headers: cookie });
  assert.deepEqual([me.body.role, me.body.mode, me.body.organization], ["developer", "start", "acme"]);
  assert.equal((await send("GET", "/dashboard/api/projects", { headers: cookie })).status, 200);
  assert.equal((await send("GET", "/v1/projects", { headers: { ...cookie, authorization: "" } })).status, 401);
  const project = JSON.stringify({ name: "web", region: "eu-west-1" });
  const refused = await send("POST", "/dashboard/api/projects", { headers: { ...cookie, ...json }, body: project });
  assert.deepEqual([refused.status, refused.body.error.code], [403, "insufficient_role"]);
  assert.equal(await opens(port, cookie), "hello");
  assert.equal(await opens(port, {}), "401");

  assert.equal((await send("DELETE", "/dashboard/session", { headers: cookie })).status, 204);
  assert.equal((await send("GET", "/dashboard/session", { headers: cookie })).status, 401);
});

test("start: only pages of this very origin may use a session", async (t) => {
  const here = await listeningWorld(t, hostedOptions);
  const cookie = await signedIn(here, keyOf("owner"));
  const { port, send } = here;
  const as = async (headers: Record<string, string>) =>
    (await send("GET", "/dashboard/api/projects", { headers: { ...cookie, ...headers } })).status;
  assert.equal(await as({ origin: `http://127.0.0.1:${port}` }), 200);
  assert.equal(await as({ "sec-fetch-site": "same-origin" }), 200);
  for (const origin of [
    `https://127.0.0.1:${port}`,
    "http://127.0.0.1:1",
    `http://localhost:${port}`,
    "null",
    "https://evil.test",
  ]) {
    assert.equal(await as({ origin }), 403, origin);
    assert.equal(await opens(port, { ...cookie, origin }), "403", origin);
    // The same path in another spelling reaches no socket.
    assert.notEqual(await opens(port, { ...cookie, origin }, "/dashboard/%6Cive"), "hello", origin);
  }
  for (const site of ["same-site", "cross-site"]) assert.equal(await as({ "sec-fetch-site": site }), 403, site);
  assert.equal(
    (await send("OPTIONS", "/dashboard/api/projects", { headers: { origin: "https://evil.test" } })).headers[
      "access-control-allow-origin"
    ],
    undefined,
  );
});

test("start: a session ends at once with its key, its user's suspension and its user", async (t) => {
  const here = await listeningWorld(t, hostedOptions);
  const { send } = here;
  const { data: users } = (await send("GET", "/v1/users")).body;
  const idOf = (name: string) => users.find((one: { name: string }) => one.name === name).id;
  const ends: Readonly<Record<string, () => Promise<unknown>>> = {
    developer: async () => {
      const { data } = (await send("GET", "/v1/api-keys")).body;
      return send("DELETE", `/v1/api-keys/${data.find((one: { name: string }) => one.name === "developer").id}`);
    },
    viewer: () => send("POST", `/v1/users/${idOf("viewer")}/suspend`),
    admin: () => send("DELETE", `/v1/users/${idOf("admin")}`),
  };
  for (const [role, end] of Object.entries(ends)) {
    const cookie = await signedIn(here, `sk_live_demo_${role}`);
    const socket = new WebSocket(`ws://127.0.0.1:${here.port}/dashboard/live`, { headers: cookie });
    await new Promise((heard) => socket.once("message", heard));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await end();
    assert.equal(await closed, 4401, role);
    assert.equal((await send("GET", "/dashboard/api/projects", { headers: cookie })).status, 401, role);
  }
});

test("start: nobody signs in over plain http from another machine; over https the cookie is __Host-", async (t) => {
  const publicUrl = "https://svc.example.com";
  const { send } = await listeningWorld(t, { ...hostedOptions, publicUrl, hosts: ["lan.example.com"] });
  const body = JSON.stringify({ key: keyOf("owner") });
  const over = (host: string) => send("POST", "/dashboard/session", { headers: { ...json, host }, body });
  assert.equal((await over("lan.example.com")).status, 403);
  const secure = await over("svc.example.com");
  assert.match(String(secure.headers["set-cookie"]), /^__Host-svc=\w{43}; Path=\/; .*; Secure$/);
  assert.equal((await over("evil.example.com")).status, 421);
});

test("dev: this machine acts as the first owner or any person, and signs in nowhere", async (t) => {
  const { send, service } = await listeningWorld(t);
  const first = await send("GET", "/dashboard/session");
  assert.deepEqual([first.status, first.body.role, first.body.organization], [200, "owner", "acme"]);
  assert.equal((await send("GET", "/dashboard/session", { headers: { host: "evil.test" } })).status, 421);
  assert.equal((await send("GET", "/dashboard", { headers: { "x-forwarded-for": "203.0.113.7" } })).status, 404);
  const { data } = (await send("GET", "/dashboard/session/people")).body;
  assert.equal(data.length, 5);
  const viewer = data.find(({ role }: { role: string }) => role === "viewer").person;
  const body = JSON.stringify({ name: "web", region: "eu-west-1" });
  const create = (headers: Record<string, string>) =>
    send("POST", "/dashboard/api/projects", { headers: { ...json, ...headers }, body });
  assert.equal((await create({ "x-svc-person": viewer })).status, 403);
  assert.equal((await create({ "x-svc-person": "org_1.usr_1" })).status, 401);
  // Without an API key, an idempotency key has no owner.
  const made = await create({ "idempotency-key": "one" });
  assert.deepEqual([made.status, made.headers["location"]], [201, `/dashboard/api/projects/${made.body.id}`]);
  const key = await send("POST", "/dashboard/api/api-keys", { headers: json, body: JSON.stringify({ name: "mine" }) });
  assert.match(key.body.key, /^sk_live_\w{40}$/);
  assert.equal((await service.client({ apiKey: key.body.key }).me.get()).user.role, "owner");
  assert.equal(
    (await send("POST", "/dashboard/session", { headers: json, body: JSON.stringify({ key: keyOf("owner") }) })).status,
    409,
  );
});

test("option dashboard: false leaves nothing below /dashboard", async (t) => {
  const { call } = await world(t, { dashboard: false });
  for (const path of ["/dashboard", "/dashboard/session", "/dashboard/api/projects"])
    assert.equal((await call("owner", "GET", path)).status, 404);
});

test("a seeded run has the same bytes with and without an open dashboard", async (t) => {
  const run = async (isWatched: boolean) => {
    const { service, call, project, deploy, port } = await listeningWorld(t);
    const socket = isWatched ? new WebSocket(`ws://127.0.0.1:${port}/dashboard/live`) : undefined;
    if (socket) await new Promise((heard) => socket.once("message", heard));
    const watch = async () => {
      if (!isWatched) return;
      for (const path of ["", "/session", "/session/people", "/api/projects", "/api/deployments", "/api/api-keys"])
        assert.equal((await service.fetch(`/dashboard${path}`)).status, 200, path);
    };
    await watch();
    const { id } = await project();
    await watch();
    const { id: deployment } = await deploy(id);
    await service.clock.advance("5s");
    await watch();
    const seen = [];
    for (const path of [
      `/v1/deployments/${deployment}`,
      `/v1/deployments/${deployment}/logs`,
      "/v1/events",
      "/v1/api-keys",
    ]) {
      const { text, headers } = await call("owner", "GET", path);
      seen.push(text, headers.get("x-ratelimit-remaining"));
    }
    socket?.terminate();
    return [seen, service.journal.list()];
  };
  assert.deepEqual(await run(true), await run(false));
});
