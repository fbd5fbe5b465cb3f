import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "../helpers/fast-check.ts";
import { anyText } from "../helpers/properties.ts";
import { all, type ListeningWorld, lines, listeningWorld, open, owner, statusesIn } from "../helpers/raw-sockets.ts";

const closing = ["Host: localhost", "Connection: close"];
const first = async ({ raw }: ListeningWorld, line: string, ...more: string[]) =>
  statusesIn(await raw(lines(line, ...closing, ...more)))[0];

test("Unsupported methods are 405 where Node's parser knows them, 400 where it does not", async (t) => {
  const here = await listeningWorld(t);
  for (const method of ["OPTIONS", "TRACE", "PROPFIND", "PURGE", "LINK", "SEARCH", "PATCH"]) {
    const text = await here.raw(lines(`${method} /v1/projects HTTP/1.1`, ...closing));
    assert.deepEqual(statusesIn(text), [405], method);
    assert.match(text, /^allow: .*\bGET\b.*\bPOST\b/im, method);
  }
  for (const method of ["BREW", "get", "G\u0001T", ""]) {
    assert.equal(await first(here, `${method} /v1/projects HTTP/1.1`), 400, method);
  }
});

test("Malformed paths are 404 like every unknown path", async (t) => {
  const here = await listeningWorld(t);
  for (const path of [
    "/v1/%zz",
    "/v1/projects/%zz",
    "/v1/projects/%",
    "/v1/projects/%c0%ae",
    "/v1/projects/%ff",
    "/v1/projects/%00",
    "/v1/projects/[",
    "/v1/projects/{id}",
    "/v1/projects\\",
    "/v1\\projects",
    "/x\\..\\v1\\projects",
    "/x\\..\\metrics",
    "/v1/projects/..%2f..%2f",
    "/v1%2fprojects",
    "//v1/projects",
    "//localhost/v1/projects",
    "/./x/v1/projects",
    `/v1/projects/${"x".repeat(8000)}`,
  ]) {
    assert.equal(await first(here, `GET ${path} HTTP/1.1`), 404, path);
  }
  assert.equal(await first(here, "GET /v1/projects?%zz=%&per_page=%zz HTTP/1.1"), 422);
  assert.equal(await first(here, "GET /v1/projects?%zz=%&&&=&x HTTP/1.1"), 200);
});

test("A Host that no URL can have is 421, however the path is written", async (t) => {
  const here = await listeningWorld(t);
  for (const host of ["127.0.0.1:99999", "127.999.0.1", "localhost:70000", "999.999.999.999"])
    for (const path of ["/a/../b", "/v1/me", "//", "/v1/../v1/me?a=b", "*", `http://${host}/a/../b`])
      for (const method of ["GET", "POST"]) {
        const text = await here.raw(lines(`${method} ${path} HTTP/1.1`, `Host: ${host}`, "Connection: close"));
        assert.deepEqual(statusesIn(text), [421], `${method} ${path} ${host}`);
      }
});

test("Other forms of the request line never break it", async (t) => {
  const here = await listeningWorld(t);
  assert.equal(await first(here, `GET http://localhost:${here.port}/v1/me HTTP/1.1`), 200, "the absolute form");
  assert.equal(await first(here, `GET http://localhost:${here.port}/v1/projects/ HTTP/1.1`), 404);
  for (const line of [
    "OPTIONS * HTTP/1.1",
    "GET * HTTP/1.1",
    "GET http:///v1/me HTTP/1.1",
    "GET http://[::1/v1/me HTTP/1.1",
    "GET http://a:b:c/v1/me HTTP/1.1",
    "GET foo:bar HTTP/1.1",
    "GET ? HTTP/1.1",
    "GET # HTTP/1.1",
    "GET v1/me HTTP/1.1",
    "GET http://localhost HTTP/1.1",
    "GET / HTTP/1.1",
  ]) {
    const status = (await first(here, line)) ?? 0;
    assert.ok(status >= 400 && status < 500, `${line} is answered ${status}`);
  }
  const socket = await open(here.port);
  const tunnel = all(socket);
  socket.end(lines("CONNECT localhost:80 HTTP/1.1", "Host: localhost"));
  assert.deepEqual(
    statusesIn(await tunnel).filter((status) => status >= 500 || status < 300),
    [],
    "no tunnel is opened",
  );
  assert.equal((await here.send("GET", "/v1/me")).status, 200);
});

test("Node's own refusals carry no more than their status", async (t) => {
  const here = await listeningWorld(t);
  assert.equal(await first(here, "GET /v1/me HTTP/1.1", `X-Long: ${"x".repeat(20_000)}`), 431);
  assert.equal(await first(here, "GET /v1/me HTTP/1.1", "no colon"), 400);
  assert.equal(await first(here, "POST /v1/projects HTTP/1.1", "Content-Length: 1", "Transfer-Encoding: chunked"), 400);
  assert.equal(await first(here, "POST /v1/projects HTTP/1.1", "Content-Length: -1"), 400);
  assert.equal(await first(here, "POST /v1/projects HTTP/1.1", "Content-Length: 1", "Content-Length: 2"), 400);
});

test("A client that disconnects during its body does not affect others", async (t) => {
  const here = await listeningWorld(t);
  const type = "Content-Type: application/json";
  for (const length of ["Content-Length: 1000", "Transfer-Encoding: chunked"]) {
    const socket = await open(here.port);
    const ended = all(socket);
    socket.write(`${lines("POST /v1/projects HTTP/1.1", "Host: localhost", type, length)}3e8\r\n{"name"`);
    assert.equal((await here.send("GET", "/v1/me")).status, 200);
    socket.destroy();
    await ended;
  }
  assert.deepEqual((await here.send("GET", "/v1/projects")).body.data, []);
});

test("A chunked body of another type is refused at its first bytes, and its connection ends", async (t) => {
  const here = await listeningWorld(t);
  const socket = await open(here.port);
  const ended = all(socket);
  socket.write(
    lines("POST /v1/projects HTTP/1.1", "Host: localhost", "Content-Type: text/plain", "Transfer-Encoding: chunked"),
  );
  socket.write("3\r\nabc\r\n");
  const answer = await ended;
  assert.match(answer, /^HTTP\/1\.1 415 /);
  assert.match(answer, /\r\nconnection: close\r\n/i);
});

const word = anyText({ maxLength: 12 });
const method = fc.oneof(fc.constantFrom("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "QUERY"), word);
const path = fc.oneof(
  fc.constantFrom("/v1/projects", "/v1/deployments", "/v1/me", "*", "/", "http://localhost/v1/me", "//", "/_svc/clock"),
  fc.tuple(fc.constantFrom("/v1/", "/v1/projects/", "/v1/projects?", "/", ""), word).map((parts) => parts.join("")),
);
const header = fc.oneof(
  fc.constantFrom(
    "Host: localhost",
    "Host: ",
    `Authorization: ${owner.authorization}`,
    "Authorization: ",
    "Content-Type: application/json",
    "Content-Type: ;",
    "Content-Length: 2",
    "Content-Length: x",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
    "Connection: keep-alive, Upgrade",
    "Upgrade: websocket",
    "Upgrade: h2c",
    "Expect: 100-continue",
    "Expect: more",
    "Idempotency-Key: ",
    "X-Request-Id: \u00ff",
    "X-Forwarded-For: ,,,",
    "Content-Encoding: br",
  ),
  fc.tuple(word, word).map(([name, value]) => `${name}: ${value}`),
);
const piece = fc
  .record({
    method,
    path,
    version: fc.constantFrom("HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9", ""),
    headers: fc.array(header, { maxLength: 6 }),
    end: fc.constantFrom("\r\n\r\n", "\r\n\r\n", "\n\n", "\r\n", ""),
    body: fc.oneof(fc.constantFrom("", "{}", "2\r\n{}\r\n0\r\n\r\n", "zz\r\n"), fc.json()),
  })
  .map(({ method, path, version, headers, end, body }) =>
    Buffer.from([[method, path, version].join(" "), "Host: localhost", ...headers].join("\r\n") + end + body, "latin1"),
  );

test("500 malformed requests never get a 5xx, and leave it in good health", async (t) => {
  const crashes: unknown[] = [];
  const note = (error: unknown) => void crashes.push(error);
  const log = { error: note, warn: () => {}, info: () => {}, debug: () => {} };
  const here = await listeningWorld(t, {
    behindProxy: true,
    logger: log,
    rateLimit: 1_000_000,
    addressRateLimit: 1_000_000,
  });
  const requests = fc.sample(
    fc.oneof(
      piece,
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    ),
    500,
  );
  const healthy = async () => assert.equal((await here.send("GET", "/v1/me")).status, 200);
  for (let i = 0; i < requests.length; i += 50) {
    const sent = await Promise.all(
      requests.slice(i, i + 50).map(async (bytes) => {
        const socket = await open(here.port);
        const answer = all(socket);
        socket.write(bytes);
        return { bytes, socket, answer };
      }),
    );
    // Meanwhile other requests are answered. Then the clients end their side: no more bytes will come.
    for (let turn = 0; turn < 3; turn++) await healthy();
    for (const { socket } of sent) socket.end();
    for (const { bytes, answer } of sent) {
      const broken = statusesIn(await answer).filter((status) => status >= 500);
      assert.deepEqual(broken, [], JSON.stringify(bytes.toString("latin1")));
    }
  }
  assert.deepEqual(crashes, [], "nothing is logged as an error");
  await healthy();
});

test("a logger that fails fails no request", async (t) => {
  const fail = () => {
    throw new Error("the disk is full");
  };
  const here = await listeningWorld(t, { logger: { error: fail, warn: fail, info: fail, debug: fail } });
  assert.equal((await here.send("GET", "/v1/me")).status, 200);
  assert.equal((await here.call("owner", "GET", "/v1/me")).status, 200);
  assert.equal((await here.send("GET", "/v1/me")).status, 200);
});
