import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createRelay, type Socket } from "node:net";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { followEvents } from "../../bin/event-stream.ts";
import { verifySignature, verifyStandardWebhook } from "../../lib/index.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { launch, stream, temporaryFolder } from "../helpers/program.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

const demo = resolve("fixtures/demo.json");

/** A receiver on this machine, over plain http: the first delivery fails. */
async function receiver(t: TestContext) {
  const got: { event: string; attempt: string; isSigned: boolean; isStandard: boolean }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { "x-service-event": event, "x-service-signature": signature } = request.headers;
    const attempt = String(request.headers["x-service-attempt"]);
    const isSigned = verifySignature("whsec_demo", body, String(signature));
    const headers = new Headers(request.headers as Record<string, string>);
    got.push({
      event: String(event),
      attempt,
      isSigned,
      isStandard: verifyStandardWebhook("whsec_demo", body, headers),
    });
    response.writeHead(got.length === 1 ? 500 : 204).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => void server.close());
  return { got, to: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks` };
}

/** A fixed address in front of services that come and go. Without a service it breaks every connection. */
async function relay(t: TestContext) {
  let port: number | undefined;
  const open = new Set<Socket>();
  const server = createRelay((socket) => {
    if (port === undefined) return socket.destroy();
    const behind = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      open.add(one);
      one.on("error", () => {}).on("close", () => other.destroy());
      one.pipe(other);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const one of open) one.destroy();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lead(to: string | number | undefined) {
      port = typeof to === "string" ? Number(new URL(to).port) : to;
      if (port === undefined) for (const one of open) one.destroy();
    },
  };
}

/** The running program, with its output. */
function listening(t: TestContext, to: string, url: string, key: string | null, ...more: string[]) {
  const home = temporaryFolder(t);
  const env = { SVC_URL: url, SVC_API_KEY: key ?? "", XDG_CONFIG_HOME: home, APPDATA: home };
  const words = ["listen", "--forward-to", to, "--json", ...more];
  const { lines, ended, stop } = stream(t, words, { ...env, SVC_WEBHOOK_SECRET: "whsec_demo" });
  return { ended, stop, next: async () => JSON.parse((await lines.next()).value) };
}

const post = async (url: string, key: string | null, path: string, body: object) => {
  const headers = jsonBearer(key);
  const response = await fetch(`${url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 201);
  return response.json() as Promise<Record<string, string>>;
};

test("listen forwards signed events to a receiver over plain http, retries, and prints each result", async (t) => {
  // Listening takes two requests of the key's rate window, however long it lasts.
  const server = await launch(t, ["dev", "--port", "0", "--seed", demo, "--rate-limit", "5"]);
  const { got, to } = await receiver(t);
  const { next, stop, ended } = listening(
    t,
    to.replace("http://127.0.0.1:", ""),
    server.url,
    server.api_key,
    "--events",
    "project.created, user.invited",
    "--retries",
    "1ms,2h",
  );
  assert.deepEqual(await next(), {
    event: "forwarding",
    to: to.replace("127.0.0.1", "localhost"),
    secret: "whsec_demo",
  });
  const send = (path: string, body: object) => post(server.url, server.api_key, path, body);
  const { id: project_id } = await send("/projects", { name: "one", region: "eu-west-1" });
  const source = { type: "git", repo: "acme/web", branch: "main" };
  const results = [await next(), await next()];
  await send("/deployments", { project_id, environment: "production", source });
  await send("/users/invite", { email: "new@acme.test", role: "viewer" });
  results.push(await next());
  assert.deepEqual(
    results.map(({ event, attempt, result }) => [event, attempt, result]),
    [
      ["project.created", 1, "500"],
      ["project.created", 2, "204"],
      ["user.invited", 1, "204"],
    ],
  );
  assert.deepEqual(got, [
    { event: "project.created", attempt: "1", isSigned: true, isStandard: true },
    { event: "project.created", attempt: "2", isSigned: true, isStandard: true },
    { event: "user.invited", attempt: "1", isSigned: true, isStandard: true },
  ]);
  stop("SIGINT");
  assert.deepEqual(await ended, { code: 0, errors: "" });
});

test("listen resumes when the service restarts, and ends with an explanation when its key is revoked", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const start = (...more: string[]) => launch(t, ["start", "--port", "0", "--database", database, ...more]);
  const key = "sk_live_demo_owner";
  const first = await start("--seed", demo);
  const { url, lead } = await relay(t);
  lead(first.url);
  const { to } = await receiver(t);
  const made = await runHere(["keys", "create", "--database", database, "--role", "viewer", "--json"]);
  const { id, key: own } = JSON.parse(made.stdout) as { id: string; key: string };
  const { next, ended } = listening(t, to, url, own);
  assert.equal((await next()).event, "forwarding");
  await post(first.url, key, "/projects", { name: "before", region: "eu-west-1" });
  assert.equal((await next()).event, "project.created");

  await first.stop();
  lead(undefined);
  const second = await start();
  await post(second.url, key, "/users/invite", { email: "meanwhile@acme.test", role: "viewer" });
  lead(second.url);
  assert.equal((await next()).event, "user.invited");
  await post(second.url, key, "/projects", { name: "afterwards", region: "eu-west-1" });
  assert.equal((await next()).event, "project.created");

  assert.equal((await runHere(["keys", "revoke", id, "--database", database])).status, 0);
  const { code, errors } = await ended;
  assert.equal(code, 1);
  assert.match(errors, /^The stream broke off.*; waiting for the service\.\nConnected again\.\n/);
  assert.match(errors, /svc-server: the API key is no longer valid \(unauthorized\)\n {2}SVC_API_KEY was refused/);
});

test("more than a stream goes back is read from the list, in order and once", async (t) => {
  const here = await listeningWorld(t, { rateLimit: 5000 });
  const { url, lead } = await relay(t);
  lead(here.port);
  const place = { url, apiKey: keyOf("viewer"), keySource: "the seed" };
  const make = async (i: number) =>
    expect(await here.call("owner", "POST", "/v1/projects", { name: `web-${i}`, region: "eu-west-1" }), 201);
  let begun = () => {};
  const open = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const events = followEvents(place, begun, () => {});
  const heard: string[] = [];
  const hear = async (count: number) => {
    while (heard.length < count) heard.push((await events.next()).value.id);
  };
  const one = hear(1);
  await open;
  await make(0);
  await one;
  lead(undefined);
  await Promise.all(Array.from({ length: 1001 }, (_, i) => make(i + 1)));
  lead(here.port);
  await hear(1002);
  assert.deepEqual(heard, [...new Set(heard)].sort());
});

test("a reset of the service is told, and later events are heard", withSnapshots, async (t) => {
  const here = await listeningWorld(t);
  const place = { url: `http://127.0.0.1:${here.port}`, apiKey: keyOf("viewer"), keySource: "the seed" };
  const make = (name: string) => here.call("owner", "POST", "/v1/projects", { name, region: "eu-west-1" });
  const heard = new EventEmitter();
  const said: string[] = [];
  const events = followEvents(
    place,
    () => heard.emit("begun"),
    (sentence) => {
      said.push(sentence);
      heard.emit(sentence);
    },
  );
  const begun = once(heard, "begun");
  const first = events.next();
  await begun;
  await here.service.clock.advance("1h");
  await make("before");
  assert.equal((await first).value.data["name"], "before");
  const again = once(heard, "Connected again.");
  const next = events.next();
  await here.service.reset();
  await again;
  await make("afterwards");
  assert.equal((await next).value.data["name"], "afterwards");
  assert.match(said.join("\n"), /^The stream broke off.*\nThe service was reset or restored.*\nConnected again\.$/);
});

test("listen refuses wrong input, and says what would be right", async (t) => {
  const here = await listeningWorld(t);
  const home = temporaryFolder(t);
  const env = {
    XDG_CONFIG_HOME: home,
    APPDATA: home,
    SVC_API_KEY: keyOf("owner"),
    SVC_URL: `http://127.0.0.1:${here.port}`,
  };
  const to = ["--forward-to", "http://127.0.0.1:1/"];
  const cases: [string[], Record<string, string>, number, RegExp][] = [
    [[], {}, 2, /--forward-to must be a URL such as http:\/\/localhost:3000\/webhooks/],
    [
      [...to, "--events", "project.craeted"],
      {},
      2,
      /no event is called "project\.craeted"; did you mean project\.created\?/,
    ],
    [
      ["--forward-to", "https://public.test/in"],
      { SVC_URL: "http://127.0.0.1:1" },
      1,
      /^Warning: public\.test is another machine; event data will leave this one\.\n/,
    ],
    [["--forward-to", "ftp://localhost"], {}, 2, /--forward-to must be a URL/],
    [[...to, "--retries", "30s,soon"], {}, 2, /--retries must be durations such as 30s,2m,10m, not "soon"/],
    [to, { SVC_URL: "http://127.0.0.1:2" }, 1, /cannot be reached; is the server running/],
  ];
  for (const [words, more, code, sentence] of cases) {
    const { status, stderr } = await runHere(["listen", ...words], home, { ...env, ...more });
    assert.deepEqual([status, sentence.test(stderr)], [code, true], stderr);
  }
});
