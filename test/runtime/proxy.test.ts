import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { WebSocket } from "ws";
import { temporaryFolder } from "../helpers/program.ts";
import { app, runtimeWorld } from "../helpers/running-apps.ts";

const host = "production-web.localhost";

/** A program that shows what it receives: headers, hashes of bodies, and short WebSocket messages. */
const mirror = (version: string) => ({
  "package.json": { scripts: { start: "node server.js" } },
  "server.js": `
const { createServer } = require("node:http");
const { createHash } = require("node:crypto");
const server = createServer((request, response) => {
  const hash = createHash("sha256");
  response.setHeader("x-version", "${version}");
  response.setHeader("x-private", "1");
  response.setHeader("proxy-authenticate", "Basic");
  response.setHeader("connection", "x-private");
  request.on("data", (chunk) => hash.update(chunk));
  request.on("end", () => response.end(JSON.stringify({ headers: request.headers, hash: hash.digest("hex") })));
});
server.on("upgrade", (request, socket) => {
  const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  socket.on("error", () => {}).on("data", (frame) => {
    if ((frame[0] & 15) !== 1) return socket.end();
    const [mask, masked] = [frame.subarray(2, 6), frame.subarray(6)];
    const text = Buffer.concat([Buffer.from("${version} "), masked.map((byte, i) => byte ^ mask[i % 4])]);
    socket.write(Buffer.concat([Buffer.from([0x81, text.length]), text]));
  });
});
server.listen(process.env.PORT, process.env.HOST);
`,
});

/** Begins a request to the app; `answered` resolves to its answer. */
function begin(port: string, options: RequestOptions) {
  const { headers, ...more } = options;
  const asked = request({ host: "127.0.0.1", port, ...more, headers: { host, ...(headers as object) } });
  const answered = once(asked, "response").then(async ([response]: IncomingMessage[]) => {
    let text = "";
    for await (const chunk of response ?? []) text += chunk;
    return { status: response?.statusCode, headers: response?.headers ?? {}, body: JSON.parse(text || "null") };
  });
  return { asked, answered };
}

test("Uploads, headers and WebSockets pass the proxy; a switch waits for a request and ends WebSockets", async (t) => {
  const here = await runtimeWorld(t);
  const { port } = new URL(here.service.appsUrl ?? "");
  const { id } = await here.project("web");
  here.repos.commit("acme/web", mirror("one"));
  assert.equal((await here.release(id)).status, "active");

  const upload = randomBytes(2 * 1024 * 1024);
  const hash = createHash("sha256").update(upload).digest("hex");
  for (const length of ["transfer-encoding", "content-length"]) {
    const value = length === "content-length" ? upload.length : "chunked";
    const { asked, answered } = begin(port, { method: "POST", headers: { [length]: value } });
    asked.end(upload);
    const { status, body } = await answered;
    assert.deepEqual([status, body.hash, body.headers[length]], [200, hash, String(value)]);
  }

  const { asked, answered } = begin(port, {
    headers: {
      connection: "keep-alive, x-mine",
      "keep-alive": "timeout=9",
      "proxy-authorization": "Basic eDp5",
      te: "trailers",
      "x-mine": "1",
      "x-forwarded-for": "203.0.113.9",
      "x-end": "to end",
    },
  });
  asked.end();
  const { headers, body } = await answered;
  const { connection: _, ...seen } = body.headers;
  assert.deepEqual(seen, {
    host,
    "x-end": "to end",
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-host": host,
    "x-forwarded-port": port,
    "x-forwarded-proto": "http",
    "x-real-ip": "127.0.0.1",
  });
  assert.deepEqual(
    [headers["x-version"], headers["x-private"], headers["proxy-authenticate"]],
    ["one", undefined, undefined],
  );

  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host } });
  const echoed = once(socket, "message");
  socket.on("open", () => socket.send("hello"));
  assert.equal(String((await echoed)[0]), "one hello");
  const closed = once(socket, "close");

  const inFlight = begin(port, { method: "POST", headers: { "transfer-encoding": "chunked" } });
  inFlight.asked.write("half");
  here.repos.commit("acme/web", mirror("two"));
  assert.equal((await here.release(id)).status, "active");
  await closed;
  const next = begin(port, {});
  next.asked.end();
  assert.equal((await next.answered).headers["x-version"], "two");
  inFlight.asked.end(" and half");
  const last = await inFlight.answered;
  assert.deepEqual(
    [last.status, last.headers["x-version"], last.body.hash],
    [200, "one", createHash("sha256").update("half and half").digest("hex")],
  );
});

test("An app that is down is 503 with Retry-After, once its request has waited", {
  skip: process.env["TEST_LONG"] === undefined && "the long form only: TEST_LONG=1",
}, async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const here = await runtimeWorld(t, { database });
  const { port } = new URL(here.service.appsUrl ?? "");
  const { id } = await here.project("web");
  here.repos.commit("acme/web", app("one"));
  const { id: deployment } = await here.release(id);
  rmSync(join(`${database}-apps`, "releases", deployment, "app", "server.js"));
  assert.match(await here.ask(host, "/crash", { method: "POST", body: "x" }), /^502 /);
  const began = performance.now();
  const { asked, answered } = begin(port, { method: "HEAD" });
  asked.end();
  const { status, headers } = await answered;
  assert.deepEqual([status, headers["retry-after"]], [503, "2"]);
  assert.ok(performance.now() - began > 4_000);
});
