import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type TestContext, test } from "node:test";
import { allowLongBody, listen, type RequestTimeouts, type Upgrade } from "../../lib/http/server.ts";
import { isLong } from "../helpers/properties.ts";
import { all, lines, open } from "../helpers/raw-sockets.ts";

const short = { headersTimeout: 250, requestTimeout: 500, connectionsCheckingInterval: 10 };
/** Long enough for any test. */
const endless = 600_000;

/** A server with these timeouts. It answers complete requests; its answer to `/stream` does not end. */
async function slow(t: TestContext, timeouts: Partial<RequestTimeouts> | "usual" = {}, upgrade: Upgrade = () => {}) {
  const reads: (() => void)[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === "/stream") return response.write("it goes on");
    if (request.url === "/push") allowLongBody(request);
    reads.push(() => request.resume().on("end", () => response.end("answered")));
    if (request.url !== "/later") reads.at(-1)?.();
  };
  const server = await listen(
    { handle, upgrade },
    { port: 0, host: "127.0.0.1" },
    timeouts === "usual" ? undefined : { ...short, ...timeouts },
  );
  t.after(() => server.close("0s"));
  /** Opens a connection; `all` resolves to everything read until it closes. */
  const connect = async () => {
    const socket = await open(server.port);
    const answered = async () => void (await once(socket, "data"));
    return { socket, all: all(socket), answered, write: (text: string) => void socket.write(text) };
  };
  return {
    connect,
    /** Reads the body of the last request that was left unread. */
    readLast: () => reads.at(-1)?.(),
    /** Resolves after twice the request timeout: four silent connections are refused, one after the other. */
    async timePasses() {
      for (let i = 0; i < 4; i++) assert.match(await (await connect()).all, refused);
    },
  };
}

const head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n";
const refused = /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n\r\n$/;
const refusedLast = /HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n\r\n$/;

test("A head that takes too long is refused with 408, and one in time is answered", async (t) => {
  const here = await slow(t);
  const silent = await here.connect();
  const dripping = await here.connect();
  const finished = await here.connect();
  dripping.write("GET / HT");
  finished.write(lines("GET / HTTP/1.1", "Host: localhost", "Connection: close"));
  assert.match(await finished.all, /^HTTP\/1\.1 200 OK\r\n.*answered/s);
  dripping.write("TP/1.1\r\nHos");
  assert.match(await silent.all, refused);
  assert.match(await dripping.all, refused);
});

test("A body may take longer than a head", async (t) => {
  const here = await slow(t, { requestTimeout: endless });
  const one = await here.connect();
  one.write(`${head}\r\nab`);
  await here.timePasses();
  const answered = one.answered();
  one.write("cd");
  await answered;
  one.socket.destroy();
  assert.match(await one.all, /^HTTP\/1\.1 200 OK\r\n.*answered/s);
});

test("A body that its route lets last longer is read to its end", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  one.write(`${head.replace("/ ", "/push ")}\r\nab`);
  await here.timePasses();
  const answered = one.answered();
  one.write("cd");
  await answered;
  one.socket.destroy();
  assert.match(await one.all, /^HTTP\/1\.1 200 OK\r\n.*answered/s);
});

test("A body that takes too long is refused with 408", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  one.write(`${head}\r\nab`);
  assert.match(await one.all, refused);
});

/** How many milliseconds a connection lasts that sends this and nothing more. */
async function lasted(connect: Awaited<ReturnType<typeof slow>>["connect"], text: string): Promise<number> {
  // Taken before connecting: the server's timer starts then, and a busy machine may continue here much later.
  const began = performance.now();
  const one = await connect();
  one.write(text);
  assert.match(await one.all, refused);
  return performance.now() - began;
}

test("A slow head ends with its own time, and a slow body with that of the whole request", async (t) => {
  // The server's timer and this one may round differently.
  const heads = await slow(t, { headersTimeout: 100, requestTimeout: endless });
  for (const time of await Promise.all(["", "GET / HT"].map((text) => lasted(heads.connect, text))))
    assert.ok(time >= 90 && time < 5_000, `${time} ms`);
  const bodies = await slow(t, { headersTimeout: 100, requestTimeout: 300 });
  const time = await lasted(bodies.connect, `${head}\r\nab`);
  assert.ok(time >= 290 && time < 5_000, `${time} ms`);
});

test("Without other times, a head has 10 s and a whole request 30 s", { skip: !isLong && "TEST_LONG=1" }, async (t) => {
  const { connect } = await slow(t, "usual");
  const [silent = 0, dripping = 0, body = 0] = await Promise.all(
    ["", "GET / HT", `${head}\r\nab`].map((text) => lasted(connect, text)),
  );
  for (const time of [silent, dripping]) assert.ok(time >= 9_990 && time < 12_000, `${time} ms`);
  assert.ok(body >= 29_990 && body < 32_000, `${body} ms`);
});

test("A request that has arrived whole is not slow, however late its body is read", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  one.write(`${head.replace("/", "/later")}\r\nabcd`);
  await here.timePasses();
  const answered = one.answered();
  here.readLast();
  await answered;
  one.socket.destroy();
  assert.match(await one.all, /^HTTP\/1\.1 200 OK\r\n.*answered/s);
});

test("A connection may idle between requests, and each of them has its own time", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  for (let i = 0; i < 3; i++) {
    const answered = one.answered();
    one.write(`${head}\r\nabcd`);
    await answered;
    await here.timePasses();
    assert.equal(one.socket.readyState, "open");
  }
  one.write(head);
  assert.match(await one.all, refusedLast);
});

test("A head that begins right behind a request has no more time than others", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  const answered = one.answered();
  one.write(lines("GET / HTTP/1.1", "Host: localhost"));
  await answered;
  one.write("GET /next HTT");
  assert.match(await one.all, refusedLast);
});

test("A long answer does not count as a slow request, and no 408 is written into it", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  const begun = one.answered();
  one.write(lines("GET /stream HTTP/1.1", "Host: localhost"));
  await begun;
  await here.timePasses();
  assert.equal(one.socket.readyState, "open");
  one.write("GET /next HTT");
  assert.doesNotMatch(await one.all, /408/);
});

test("No 408 is written into a running answer, even if the next request is slow", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  const begun = one.answered();
  one.write(lines("GET /stream HTTP/1.1", "Host: localhost"));
  await begun;
  one.write(`${head}\r\nab`);
  assert.doesNotMatch(await one.all, /408/);
});

test("An empty line behind a request begins no other", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  const answered = one.answered();
  one.write(`${lines("GET / HTTP/1.1", "Host: localhost")}\r\n`);
  await answered;
  one.write("\r\n");
  await here.timePasses();
  assert.equal(one.socket.readyState, "open");
  one.socket.destroy();
});

test("A connection that became a WebSocket has no request to wait for", async (t) => {
  let taken: Duplex | undefined;
  const here = await slow(t, {}, (_, socket) => {
    taken = socket;
    socket.write("taken");
  });
  const one = await here.connect();
  const begun = one.answered();
  one.write(lines("GET / HTTP/1.1", "Host: localhost", "Connection: upgrade", "Upgrade: websocket"));
  await begun;
  await here.timePasses();
  assert.equal(taken?.destroyed, false);
  assert.equal(one.socket.readyState, "open");
  taken?.destroy();
});

test("A request that arrives on an open connection while the process is stopped is answered", async (t) => {
  const here = await slow(t, { keepAliveTimeout: 100, headersTimeout: endless, requestTimeout: endless });
  const { socket, all, answered, write } = await here.connect();
  write(lines("GET / HTTP/1.1", "Host: localhost"));
  await answered();
  const again = answered();
  write(lines("GET / HTTP/1.1", "Host: localhost"));
  // Node closes an idle connection up to a second late.
  spawnSync("sleep", ["1.5"]);
  await again;
  socket.end();
  assert.equal((await all).match(/answered/g)?.length, 2);
});
