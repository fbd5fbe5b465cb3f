import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { recordingOf } from "../../bin/record/files.ts";
import { createRecorder, type Exchange } from "../../bin/record/recorder.ts";
import { openRelay } from "../../bin/record/relay.ts";
import { parseSeed } from "../../lib/config/seed.ts";
import { bearer } from "../helpers/headers.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { openStream } from "../helpers/stream-client.ts";

/** A server that answers with the listener, in place of a service. */
async function answering(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

// biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of an answer
const json = (response: Response): Promise<any> => response.json();

/** A relay in this process, with what it recorded. */
async function recording(t: TestContext, upstream: string, more: Partial<Parameters<typeof openRelay>[0]> = {}) {
  const recorder = createRecorder();
  const refused: Exchange[] = [];
  const onExchange = (exchange: Exchange) => void (recorder.observe(exchange) || refused.push(exchange));
  const relay = await openRelay({ upstream: `${upstream}/v1`, port: 0, host: "127.0.0.1", onExchange, ...more });
  t.after(relay.close);
  return { url: relay.url, refused, result: (keepsPeople = false) => recordingOf(recorder, keepsPeople) };
}

test("method, path, query, headers and bodies pass in both directions, as they come", async (t) => {
  const seen: unknown[] = [];
  let goOn = () => {};
  const halfRead = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const upstream = await answering(t, async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { host, authorization, "x-own": own } = request.headers;
    seen.push([request.method, request.url, host === new URL(upstream).host, authorization, own, body]);
    response.writeHead(207, { "content-type": "text/event-stream", "x-answer": "yes" });
    response.write("first\n");
    await halfRead;
    response.end("last\n");
  });
  const { url, refused } = await recording(t, upstream);
  const headers = { ...bearer("sk_live_demo"), "x-own": "1" };
  const response = await fetch(`${url}/v1/any?a=b%20c&d`, { method: "PATCH", headers, body: "text" });
  assert.deepEqual([response.status, response.headers.get("x-answer")], [207, "yes"]);
  const chunks: string[] = [];
  for await (const chunk of response.body ?? []) {
    chunks.push(Buffer.from(chunk).toString());
    goOn();
  }
  assert.deepEqual(chunks, ["first\n", "last\n"]);
  assert.deepEqual(seen, [["PATCH", "/v1/any?a=b%20c&d", true, "Bearer sk_live_demo", "1", "text"]]);
  assert.equal(refused.length, 0);
  assert.equal((await fetch(`${url}/dashboard`)).status, 404);
});

test("the stream of events passes too", async (t) => {
  const here = await listeningWorld(t);
  const relay = await recording(t, `http://127.0.0.1:${here.port}`);
  const stream = openStream(t, { port: Number(new URL(relay.url).port) });
  await stream.begun;
  await here.project();
  await stream.until(1);
  assert.deepEqual(stream.events(), ["project.created"]);
});

test("an upstream that is down, late, or answers no JSON is named", async (t) => {
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const origin = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
  closed.close();
  await once(closed, "close");
  const down = await recording(t, origin);
  const refused = await fetch(`${down.url}/v1/projects`, { headers: bearer("sk_live_demo") });
  const { error, meta } = await json(refused);
  assert.equal(refused.status, 502);
  assert.deepEqual(error, {
    code: "bad_gateway",
    message: `the upstream ${origin} cannot be reached: connection refused`,
  });
  assert.equal(refused.headers.get("x-request-id"), meta.request_id);
  assert.deepEqual(down.result().seed, { organizations: [] });

  const silent = await answering(t, () => {});
  const late = await recording(t, silent, {
    afterPatience(run) {
      setImmediate(run);
      return () => {};
    },
  });
  const answer = await fetch(`${late.url}/v1/projects`, { method: "POST", body: "{}" });
  assert.match(await answer.text(), /it gave no answer within two minutes/);

  const page = await answering(t, (_, response) => response.end("<html>Sign in</html>"));
  const html = await recording(t, page);
  assert.equal(await (await fetch(`${html.url}/v1/me`)).text(), "<html>Sign in</html>");
  assert.deepEqual(
    html.refused.map(({ path }) => path),
    ["/me"],
  );
});

test("a full envelope, compressed answers, and answers that break rules are understood or left out with a reason", async (t) => {
  const bodies: Record<string, object> = {
    "/v1/me": { data: { organization: { id: "org_1", name: "acme", plan: "pro" } }, meta: {} },
    "/v1/projects": {
      data: [
        { id: "proj_1", name: "web", region: "eu" },
        { id: "proj_2", name: "x", region: "eu" },
      ],
      meta: {},
    },
    "/v1/integrations": { data: [{ id: "int_1", type: "chat", status: "active" }], meta: {} },
  };
  const upstream = await answering(t, ({ url = "" }, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
    response.end(gzipSync(JSON.stringify(bodies[url])));
  });
  const { url, result } = await recording(t, upstream);
  for (const path of Object.keys(bodies)) await (await fetch(url + path, { headers: bearer("sk_live_demo") })).text();
  const { seed, left } = result();
  assert.deepEqual(left, [
    "int_1: its settings were not seen; GET /integrations/int_1 shows them",
    "the project x: projects.0.name must have 3 to 64 characters",
  ]);
  const [organization] = seed.organizations;
  assert.deepEqual([organization?.name, organization?.plan], ["acme", "pro"]);
  assert.deepEqual(organization?.projects, [{ name: "web", region: "eu" }]);
  // The recorder saw no owner, so the recording gets one of its own.
  assert.deepEqual(
    organization?.users?.map(({ role }) => role),
    ["owner"],
  );
});

test("callers of one organization make one, and of two make two; people stay as they are with keepsPeople", async (t) => {
  const answers: Record<string, object> = {
    a: {
      organization: { id: "org_1", name: "acme" },
      user: { id: "usr_1", name: "Ada", email: "ada@acme.com", role: "owner" },
    },
    b: {
      organization: { id: "org_1", name: "acme" },
      user: { id: "usr_2", name: "Bob", email: "bob@acme.com", role: "viewer" },
    },
    c: {
      organization: { id: "org_2", name: "globex" },
      user: { id: "usr_3", name: "Cy", email: "cy@globex.com", role: "owner" },
    },
  };
  const upstream = await answering(t, ({ headers }, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(answers[headers.authorization?.at(-1) ?? ""]));
  });
  const { url, result } = await recording(t, upstream);
  for (const key of "abc") await (await fetch(`${url}/v1/me`, { headers: bearer(key) })).text();
  const people = (keeps: boolean) =>
    result(keeps).seed.organizations.map(({ name, users }) => [name, users?.map(({ email }) => email)]);
  assert.deepEqual(people(true), [
    ["acme", ["ada@acme.com", "bob@acme.com"]],
    ["globex", ["cy@globex.com"]],
  ]);
  assert.deepEqual(people(false), [
    ["acme", ["owner-1@recorded.test", "viewer-1@recorded.test"]],
    ["globex", ["owner-1-of-2@recorded.test"]],
  ]);
  parseSeed(result().seed);
});

test("a caller who sees the records of two others makes one organization of all three", async (t) => {
  const one = { id: "proj_1", name: "one", region: "eu-west-1", framework: null, status: "active" };
  const two = { ...one, id: "proj_2", name: "two" };
  const answers: Record<string, object[]> = { a: [one], b: [two], c: [one, two] };
  const upstream = await answering(t, ({ headers }, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ data: answers[headers.authorization?.at(-1) ?? ""] }));
  });
  const { url, result } = await recording(t, upstream);
  for (const key of "abc") await (await fetch(`${url}/v1/projects`, { headers: bearer(key) })).text();
  const projects = result().seed.organizations.map((organization) => organization.projects?.map(({ name }) => name));
  assert.deepEqual(projects, [["one", "two"]]);
});
