import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { build } from "esbuild";
import { eventsOf } from "../../lib/client/sse.ts";
import { createClient } from "../../lib/client.ts";
import { refusedPorts } from "../../lib/kernel/text/refused-ports.ts";
import fc from "../helpers/fast-check.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf, world } from "../helpers/test-service.ts";

/** A server other than svc-server. */
async function serverOf(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const hasty = { retries: 0, apiKey: keyOf("owner") };

test("a server that is down", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}/v1`, ...hasty });
  await assert.rejects(client.me.get(), { code: "unreachable", status: 0, message: /cannot be reached/ });
});

test("a port that fetch refuses, and a name that nobody knows", async () => {
  for (const port of refusedPorts)
    await assert.rejects(createClient({ baseUrl: `http://127.0.0.1:${port}/v1`, ...hasty }).me.get(), {
      code: "unreachable",
      message: `http://127.0.0.1:${port}/v1 cannot be reached; fetch refuses the port ${port}, as browsers do: the server needs another`,
    });
  const fetch = async () => {
    const cause = Object.assign(new Error("getaddrinfo ENOTFOUND svc.test"), { code: "ENOTFOUND" });
    throw new TypeError("fetch failed", { cause });
  };
  await assert.rejects(createClient({ baseUrl: "https://svc.test/v1", ...hasty, fetch }).me.get(), {
    code: "unreachable",
    message:
      "https://svc.test/v1 cannot be reached; the name svc.test was not found: check the address, and the network",
  });
});

test("a server that never answers", async (t) => {
  const baseUrl = await serverOf(t, () => {});
  const client = createClient({ baseUrl, ...hasty, timeout: 1 });
  await assert.rejects(client.me.get(), { code: "timed_out", message: /GET .*\/me was not answered within 1 ms/ });
  const ending = new AbortController();
  const asked = createClient({ baseUrl, ...hasty }).me.get({}, { signal: ending.signal });
  ending.abort(new Error("enough"));
  await assert.rejects(asked, /enough/);
});

test("a server that answers HTML, with any status", async (t) => {
  for (const status of [200, 404, 502]) {
    const baseUrl = await serverOf(t, (_, response) => {
      response.writeHead(status, { "content-type": "text/html; charset=utf-8" }).end("<h1>Welcome</h1>");
    });
    await assert.rejects(createClient({ baseUrl, ...hasty }).me.get(), {
      code: "unreadable",
      status,
      message: new RegExp(`answered ${status} with text/html, which is not the type of this interface`),
    });
  }
});

test("a redirect does not turn a POST into a GET whose answer looks like the new record", async (t) => {
  const asked: string[] = [];
  const baseUrl = await serverOf(t, ({ method, url }, response) => {
    asked.push(`${method} ${url}`);
    if (url === "/v1/projects") response.writeHead(301, { location: "/v2/projects" }).end();
    else response.writeHead(200, { "content-type": "application/json" }).end('{"data":[],"meta":{}}');
  });
  await assert.rejects(createClient({ baseUrl, ...hasty }).projects.create({ name: "web", region: "eu-west-1" }), {
    code: "unreadable",
    status: 301,
    message: /\/v1\/projects redirects to \/v2\/projects/,
  });
  assert.deepEqual(asked, ["POST /v1/projects"]);
});

test("an answer that breaks off, by its bytes or by its JSON", async (t) => {
  const json = { "content-type": "application/json" };
  const cut = await serverOf(t, (_, response) => {
    response.writeHead(200, { ...json, "content-length": 100 }).write('{"id":');
    setImmediate(() => response.destroy());
  });
  await assert.rejects(createClient({ baseUrl: cut, ...hasty }).me.get(), { code: "unreadable", message: /broke off/ });
  const short = await serverOf(t, (_, response) => void response.writeHead(200, json).end('{"id":'));
  await assert.rejects(createClient({ baseUrl: short, ...hasty }).me.get(), {
    code: "unreadable",
    message: /JSON breaks off/,
  });
});

test("a call with an incomplete answer is retried, and its work is not done twice", async (t) => {
  const here = await listeningWorld(t);
  const waits: number[] = [];
  const options = { apiKey: keyOf("owner"), sleep: async (ms: number) => waits.push(ms) };
  const overPort = createClient({ ...options, baseUrl: `http://127.0.0.1:${here.port}/v1` });
  const inProcess = createClient({ ...options, baseUrl: "http://localhost/v1", fetch: here.service.fetch });
  const cut = (times: number) => here.service.faults.add({ respond: { truncate: true }, times });
  for (const [i, client] of [overPort, inProcess].entries()) {
    const name = `web ${i}`;
    cut(1);
    const { id } = await client.projects.create({ name, region: "eu-west-1" });
    cut(2);
    assert.equal((await client.projects.get({ id })).name, name);
    cut(1);
    assert.equal((await client.projects.update({ id, name: `${name}!` })).name, `${name}!`);
    cut(1);
    await assert.rejects(client.projects.get({ id: "proj_none" }), { code: "not_found" });
    cut(4);
    await assert.rejects(client.projects.list(), { code: "unreadable", status: 200, message: "the answer broke off" });
    assert.equal((await client.projects.list()).data.length, i + 1);
    assert.deepEqual(waits.splice(0), [250, 250, 500, 250, 250, 250, 500, 1000]);
  }
  assert.deepEqual(await here.events(), ["project.created", "project.created"]);
});

test("JSON that breaks off, as where an answer ends with its connection, is asked for again", async () => {
  const headers = { "content-type": "application/json" };
  const answers = ['{"data":[', '{"data":[],"meta":{}}'].map((text) => new Response(text, { headers }));
  const fetch = async () => answers.shift() ?? assert.fail();
  const client = createClient({ baseUrl: "http://localhost/v1", fetch, sleep: async () => {} });
  assert.deepEqual((await client.projects.list()).data, []);
});

test("an answer whose body never ends fails after the timeout or at its signal", async (t) => {
  // Keeps the process alive, as a connection would; the timer of the limit does not.
  const { port1: up } = new MessageChannel();
  up.ref();
  t.after(() => up.close());
  const headers = { "content-type": "application/json" };
  const ending = new AbortController();
  const options = { baseUrl: "http://localhost/v1", ...hasty };
  const fetch = async (_: string, { signal }: RequestInit) => {
    const start = (body: ReadableStreamDefaultController) =>
      signal?.addEventListener("abort", () => body.error(signal.reason));
    return new Response(new ReadableStream({ start }), { headers });
  };
  await assert.rejects(createClient({ ...options, fetch, timeout: 1 }).me.get(), { code: "timed_out" });
  const asked = createClient({ ...options, fetch }).me.get({}, { signal: ending.signal });
  setImmediate(() => ending.abort(new Error("enough")));
  await assert.rejects(asked, /enough/);
});

test("the client runs in a browser: nothing of Node is in it, and little of anything", async (t) => {
  const { outputFiles } = await build({
    entryPoints: ["lib/client.ts"],
    bundle: true,
    minify: true,
    platform: "browser",
    format: "esm",
    write: false,
  });
  const [{ text }] = outputFiles as [(typeof outputFiles)[0]];
  assert.ok(!/\bfrom\s*"|\brequire\(|\bprocess\b|\bBuffer\b/.test(text));
  assert.ok(text.length < 16_384, `${text.length} bytes`);
  const bundled = await import(`data:text/javascript,${encodeURIComponent(text)}`);
  const { service } = await world(t);
  const { url } = await service.listen({ port: 0 });
  const client = bundled.createClient({ baseUrl: `${url}/v1/`, apiKey: keyOf("viewer") });
  assert.equal((await client.me.get()).user.role, "viewer");
});

const line = fc.string({ unit: fc.constantFrom("a", "ä", "😀", " ", ":", "{") });

test("a stream is read the same in whatever pieces it arrives", async () => {
  const sent = fc.record({
    event: fc.constantFrom("message", "log", "end"),
    data: fc.array(line, { minLength: 1 }),
    id: line,
  });
  const all = async (chunks: Uint8Array[]) => {
    const found = [];
    for await (const event of eventsOf(
      (async function* () {
        yield* chunks;
      })(),
    ))
      found.push(event);
    return found;
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(sent),
      fc.constantFrom("\n", "\r\n", "\r"),
      fc.integer({ min: 1, max: 9 }),
      async (events, end, size) => {
        const text = events
          .map(({ event, data, id }) =>
            [`: a comment`, `event: ${event}`, ...data.map((one) => `data: ${one}`), `id: ${id}`, "", ""].join(end),
          )
          .join("");
        const bytes = new TextEncoder().encode(`${text}data: broken off`);
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, (i + 1) * size),
        );
        assert.deepEqual(
          await all(pieces),
          events.map(({ event, data, id }) => ({ event, data: data.join("\n"), id })),
        );
      },
    ),
    { numRuns: 50 },
  );
});

test("invalid JSON is retried only after a success status; Retry-After is obeyed anyway", async () => {
  const answers: readonly (readonly [
    status: number,
    body: string | null,
    more: Record<string, string>,
    waits: number[],
  ])[] = [
    [401, "", {}, []],
    [403, "<html>", {}, []],
    [500, "", {}, []],
    [429, "", { "retry-after": "7" }, [7000, 7000, 7000]],
    [200, "<html>", {}, [250, 500, 1000]],
    [204, null, {}, []],
  ];
  for (const [status, body, more, expected] of answers) {
    const waits: number[] = [];
    const client = createClient({
      baseUrl: "http://localhost/v1",
      fetch: async () => new Response(body, { status, headers: { "content-type": "application/json", ...more } }),
      sleep: async (ms) => waits.push(ms),
    });
    const gone = client.projects.delete({ id: "proj_1" });
    await (status === 204 ? gone : assert.rejects(gone, { code: "unreadable", status }));
    assert.deepEqual(waits, expected, String(status));
  }
});
