import assert from "node:assert/strict";
import { test } from "node:test";
import type { Options } from "../../lib/index.ts";
import { createLog, lineSink, reasonOf } from "../../lib/kernel/log.ts";
import { redact } from "../../lib/kernel/secrets/secret-redaction.ts";
import fc from "../helpers/fast-check.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { runs } from "../helpers/properties.ts";
import { listeningWorld, owner } from "../helpers/raw-sockets.ts";
import { expect, keyOf, world } from "../helpers/test-service.ts";

const letters = (min: number, max = min) =>
  fc.string({ unit: fc.constantFrom(..."abcdefghijkXYZ0123456789"), minLength: min, maxLength: max });
const words = fc.constantFrom("", "it failed: ", "Error: ", "at build (", 'a "quoted" word, ', "ü\n  ", "key_01 ", "{");

/** A secret, and a text that contains it in one of its usual forms. */
const spoken = fc.oneof(
  letters(8, 90).map((secret) => [secret, `sk_live_${secret}`]),
  letters(8, 60).map((secret) => [secret, `whsec_${secret}`]),
  fc
    .tuple(
      letters(8, 60),
      fc.constantFrom("Bearer ", "bearer  ", "Basic ", "Authorization: Bearer ", "authorization=Basic "),
    )
    .map(([secret, scheme]) => [secret, scheme + secret]),
  letters(43).map((secret) => [secret, secret]),
  fc
    .tuple(
      letters(8, 60),
      fc.constantFrom("https", "http", "wss"),
      fc.constantFrom("/in/", "/?a=1&b=", "#", "/a#token="),
    )
    .map(([secret, scheme, path]) => [secret, `${scheme}://chat.example.com${path}${secret}`]),
  letters(8, 60).map((secret) => [secret, `postgres://admin:${secret}@db.example.com:5432/svc`]),
  letters(8, 60).map((secret) => [secret, `/assets/gen_01.png?expires=1767225600&signature=${secret}`]),
  fc
    .tuple(
      letters(8, 60),
      fc.constantFrom(
        "secret",
        "client_secret",
        "api_key",
        "apiKey",
        "X-Gitlab-Token",
        "password",
        "DD-API-KEY",
        "cookie",
      ),
      fc.constantFrom("=", ": ", " = "),
    )
    .map(([secret, name, is]) => [secret, name + is + secret]),
);
/** The same as JSON, and as JSON within JSON, with characters that JSON escapes. */
const written = fc
  .tuple(
    fc.string({ unit: fc.constantFrom("a", "7", '"', "\\", " ", ",", "}", "ü"), minLength: 8 }),
    fc.constantFrom("secret", "api_key", "token", "Authorization"),
    fc.integer({ min: 1, max: 3 }),
  )
  .map(([noise, name, depth]) => {
    const secret = `CANARY${noise}CANARY`;
    let text = JSON.stringify({ [name]: secret, next: 1 });
    for (let i = 1; i < depth; i++) text = JSON.stringify({ body: text });
    return ["CANARY", text];
  });

test("no secret gets into a log line, whatever its form and position", () => {
  const found: string[] = [];
  const logs = [true, false].map((json) =>
    createLog("debug", lineSink({ json, now: () => "now", write: (line) => found.push(line) })),
  );
  fc.assert(
    fc.property(fc.oneof(spoken, written), words, words, ([secret = "", text = ""], before, after) => {
      const said = `${before} ${text}${after && ` ${after}`}`;
      for (const log of logs) {
        log.error(said, { reason: said, cause: reasonOf(new Error(said)) });
        log.warn("it is in a field", { [before]: said });
      }
      const leaked = found.splice(0).filter((line) => line.includes(secret));
      assert.deepEqual(leaked, [], secret);
    }),
    runs(200),
  );
});

test("a field with the name of a secret is never shown", () => {
  const seen: unknown[] = [];
  const log = createLog("info", (_, __, fields) => seen.push(fields));
  log.info("x", {
    key: "a",
    token: "b",
    webhook_secret: 7,
    "x-api-key": true,
    cookie: "",
    signature: "s",
    password: null,
  });
  log.info("x", { key_id: "key_01", request_id: "req_01", path: "/v1/api-keys", status: 200, kind: "deliveries.pump" });
  const hidden = "[redacted]";
  assert.deepEqual(seen, [
    {
      ...{ key: hidden, token: hidden, webhook_secret: hidden, "x-api-key": hidden, cookie: hidden },
      ...{ signature: hidden, password: null },
    },
    { key_id: "key_01", request_id: "req_01", path: "/v1/api-keys", status: 200, kind: "deliveries.pump" },
  ]);
});

test("public text is left unchanged", () => {
  for (const text of [
    "a job's late answer was dropped: its lease was lost",
    "Error: no such table: projects\n    at run (file:///srv/app/dist/lib/index.js:10:5)\n    at node:internal/process/task_queues:95:5",
    "dep_01JGFJJZ008PNB0KXQ2V4DTS6R of /v1/deployments/{id} took 12 ms; 2026-01-01T00:00:00.000Z",
    "the database ./svc-data cannot be used: its key file ./svc-data.key is missing",
    "4a1f0c9b6f0e4ac7a1d2a3b4c5d6e7f8a9b0c1d2",
  ])
    assert.equal(redact(text), text);
  assert.equal(
    redact("getaddrinfo ENOTFOUND https://svc.example.com"),
    "getaddrinfo ENOTFOUND https://svc.example.com",
  );
});

interface Entry {
  readonly level: string;
  readonly message: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of a field is what it asserts
  readonly [field: string]: any;
}

/** Options with a logger that collects its entries. */
function listening(): { entries: Entry[]; options: Options } {
  const entries: Entry[] = [];
  const take =
    (level: string) =>
    (message: string, fields: object = {}) =>
      void entries.push({ ...fields, level, message });
  const logger = { error: take("error"), warn: take("warn"), info: take("info"), debug: take("debug") };
  return { entries, options: { logger } };
}

test("each request is one entry, with its id and its key, and without its query", async (t) => {
  const { entries, options } = listening();
  const here = await listeningWorld(t, options);
  const { body } = await here.send("GET", "/v1/me");
  await here.send("GET", "/v1/projects?api_key=hunter22&cursor=x", { headers: { ...owner, "x-request-id": "mine" } });
  await here.send("GET", "/v1/me", { headers: {} });
  for (const path of ["/healthz", "/readyz", "/metrics"]) await here.send("GET", path);
  const requests = entries.filter(({ message }) => message === "request");
  assert.ok(requests.every(({ duration_ms }) => typeof duration_ms === "number" && duration_ms >= 0));
  const key_id = body.key.id;
  assert.deepEqual(
    requests.map(({ level, request_id, method, path, status, key_id }) => ({
      level,
      request_id,
      method,
      path,
      status,
      key_id,
    })),
    [
      { level: "info", request_id: body.meta.request_id, method: "GET", path: "/v1/me", status: 200, key_id },
      { level: "info", request_id: "mine", method: "GET", path: "/v1/projects", status: 422, key_id },
      { level: "info", request_id: requests[2]?.request_id, method: "GET", path: "/v1/me", status: 401, key_id: null },
      // An owner's key limits the metrics to its organization; the other two paths take no key.
      ...[["/healthz", null] as const, ["/readyz", null] as const, ["/metrics", key_id] as const].map(
        ([path, key_id], i) => ({
          ...{ level: "debug", request_id: requests[3 + i]?.request_id, method: "GET", path, status: 200, key_id },
        }),
      ),
    ],
  );
});

test("secrets in every field of the interface never get into the log, whether requests succeed or fail", async (t) => {
  const { entries, options } = listening();
  const canary = (name: string) => `CANARY${name}`;
  // A receiver that fails with an error that repeats the whole request.
  const transport = async (request: Request) => {
    throw new Error(`${request.url} ${JSON.stringify([...request.headers])} ${await request.text()}`);
  };
  const here = await world(t, { ...options, transport });
  const send = async (path: string, body: unknown) => expect(await here.call("owner", "POST", path, body), 201);
  const project = await here.project();
  await send("/v1/webhooks", {
    url: `https://h.example.com/${canary("path")}`,
    events: ["*"],
    secret: canary("secret"),
  });
  const chat = { webhook_url: `https://chat.example.com/services/${canary("chat")}`, channel: "#dev" };
  await send("/v1/integrations", { type: "chat", config: chat });
  await send("/v1/integrations", {
    ...{ type: "monitoring", config: { api_key: canary("key"), site: "example.com", service: "web" } },
  });
  await send("/v1/integrations", {
    type: "custom",
    config: { url: `https://c.example.com/${canary("c")}`, secret: canary("s") },
  });
  await send("/v1/users/invite", { email: "new@acme.test", role: "viewer" });
  await send("/v1/generations", { model: "x", resolution: "32x32", input: { prompt: canary("prompt") } });
  const made = await send("/v1/api-keys", { name: "ci", scopes: ["projects:read"] });
  const variables = { PLAIN: canary("plain"), TOKEN: { value: canary("variable"), secret: true } };
  expect(await here.call("owner", "PUT", `/v1/projects/${project.id}/environments/production`, { variables }), 200);
  await here.deploy(project.id);
  await here.service.clock.advance("4h");
  await here.call("nobody", "POST", "/v1/invitations/accept", { token: canary("token"), name: "x" });
  await here.call("nobody", "GET", "/v1/me", undefined, { authorization: `Bearer sk_live_${canary("bearer")}` });
  await here.call("owner", "GET", `/assets/gen_x.png?expires=1&signature=${canary("link")}`);
  await here.call("owner", "POST", "/v1/projects", `{"name":"${canary("broken")}`);
  const { body } = await here.call("nobody", "GET", "/_svc/mail");
  assert.ok(entries.length > 10);
  const text = JSON.stringify(entries);
  for (const secret of ["CANARY", keyOf("owner"), made.key, body.data[0].token])
    assert.doesNotMatch(text, new RegExp(secret));
});

test("the program logs its requests to stderr, as JSON if that is not a terminal", async (t) => {
  const served = await launch(t, ["start", "--port", "0", "--database", "svc.db"], temporaryFolder(t));
  await (await served.get("/v1/me?token=hunter22")).text();
  await served.stop();
  const entries = served
    .errors()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const { at, request_id, duration_ms, key_id, ...rest } = entries.find(({ message }) => message === "request");
  assert.deepEqual(rest, { level: "info", message: "request", method: "GET", path: "/v1/me", status: 200 });
  assert.match(key_id, /^key_/);
  assert.match(request_id, /^req_/);
  assert.match(at, /^\d{4}-.*Z$/);
  assert.ok(duration_ms >= 0);
  assert.doesNotMatch(served.errors(), /hunter22|sk_live_[a-zA-Z0-9]/);
});

test("the entry of a rate-limited request names its key", async (t) => {
  const entries: { status?: number; key_id?: string | null }[] = [];
  const none = () => {};
  const logger = {
    error: none,
    warn: none,
    debug: none,
    info: (_: string, fields?: object) => entries.push(fields ?? {}),
  };
  const here = await world(t, { logger, rateLimit: 1, addressRateLimit: 1 });
  for (const who of ["viewer", "viewer", "nobody", "nobody"] as const) await here.call(who, "GET", "/v1/me");
  const [passed, refused, unknown, more] = entries;
  assert.match(String(passed?.key_id), /^key_/);
  assert.deepEqual([refused?.status, refused?.key_id], [429, passed?.key_id]);
  assert.deepEqual([unknown?.status, unknown?.key_id, more?.status, more?.key_id], [401, null, 429, null]);
});
