import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { createPatience } from "../../lib/http/patience.ts";
import { listen, type Upgrade } from "../../lib/http/server.ts";
import { all, lines, open } from "../sockets.ts";

/** A server that answers once a body is whole, and whose seconds a test lets pass one by one. */
async function slow(t: TestContext, upgrade: Upgrade = () => {}) {
  let at = 0;
  let due: (() => void) | undefined;
  const accepted: Socket[] = [];
  const arrivals = new EventEmitter();
  const timer = (_: string | number, run: () => void) => {
    due = run;
    return () => {};
  };
  const patience = createPatience({ now: () => at, timer });
  const { connected } = patience;
  patience.connected = (socket) => {
    accepted.push(socket);
    arrivals.emit("accepted");
    connected(socket);
  };
  const read: (() => void)[] = [];
  const handle = (request: IncomingMessage, reply: ServerResponse) => {
    if (request.url === "/stream") return reply.write("it goes on");
    read.push(() => request.resume().on("end", () => reply.end("answered")));
    if (request.url !== "/later") read.at(-1)?.();
  };
  const server = await listen({ handle, upgrade }, { port: 0, host: "127.0.0.1" }, patience);
  t.after(() => server.close("0s"));
  return {
    isLooking: () => due !== undefined,
    /** Reads the last request's body, where that was put off. */
    readLast: () => read.at(-1)?.(),
    pass(seconds: number): void {
      for (let i = 0; i < seconds; i++) {
        at += 1_000;
        const look = due;
        due = undefined;
        look?.();
      }
    },
    /** A connection, and all that comes out of it until it is closed. */
    async connect() {
      const socket = await open(server.port);
      const found = () => accepted.find(({ remotePort }) => remotePort === socket.localPort);
      if (!found()) await once(arrivals, "accepted");
      const its = found();
      assert.ok(its);
      const closed = new Promise((resolve) => its.on("close", resolve));
      return {
        socket,
        its,
        all: all(socket),
        /** Resolves once the server has read it. */
        async write(text: string) {
          const wanted = its.bytesRead + text.length;
          socket.write(text);
          while (its.bytesRead < wanted) {
            assert.equal(its.destroyed, false, "the connection was closed too early");
            await Promise.race([once(its, "data"), closed]);
          }
        },
        async answered() {
          await once(socket, "data");
        },
      };
    },
  };
}

const head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n";
const refused = /^HTTP\/1\.1 408 Request Timeout\r\nconnection: close\r\n\r\n$/;

test("A head that takes more than ten seconds is refused with 408, and one that takes ten is answered", async (t) => {
  const here = await slow(t);
  const silent = await here.connect();
  const dripping = await here.connect();
  const finished = await here.connect();
  here.pass(5);
  await dripping.write("GET / HT");
  here.pass(5);
  await finished.write(lines("GET / HTTP/1.1", "Host: localhost", "Connection: close"));
  assert.match(await finished.all, /^HTTP\/1\.1 200 OK\r\n.*answered/s);
  await dripping.write("TP/1.1\r\nHos");
  here.pass(1);
  assert.match(await silent.all, refused);
  assert.match(await dripping.all, refused);
});

test("A body has thirty seconds of its own", async (t) => {
  const here = await slow(t);
  const [late, intime] = [await here.connect(), await here.connect()];
  for (const one of [late, intime]) await one.write(head);
  here.pass(9);
  for (const one of [late, intime]) await one.write("\r\nab");
  here.pass(31);
  await intime.write("cd");
  await intime.answered();
  intime.socket.destroy();
  here.pass(1);
  assert.match(await late.all, refused);
});

test("The time of a body begins when somebody reads it: whoever is kept waiting is not slow", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  await one.write(`${head.replace("/", "/later")}\r\nab`);
  here.pass(100);
  assert.equal(one.its?.writable, true);
  here.readLast();
  here.pass(1 + 30);
  assert.equal(one.its?.writable, true);
  here.pass(1);
  assert.match(await one.all, refused);
});

test("A connection may idle between requests, and each of them has its own time", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  for (let i = 0; i < 3; i++) {
    await one.write(head.slice(0, 20));
    here.pass(10);
    await one.write(`${head.slice(20)}\r\na`);
    here.pass(20);
    const answered = one.answered();
    await one.write("bcd");
    await answered;
    here.pass(40);
  }
  await one.write(head);
  // What begins between two looks is known of from the second one on.
  here.pass(1 + 11);
  assert.match((await one.all).slice(-60), /HTTP\/1\.1 408 Request Timeout\r\nconnection: close\r\n\r\n$/);
});

test("A head that begins right behind a request, before anybody looks, has no more time than others", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  const answered = one.answered();
  await one.write(lines("GET / HTTP/1.1", "Host: localhost"));
  await answered;
  await one.write("GET /next HTT");
  here.pass(1 + 11);
  assert.match((await one.all).slice(-60), /408 Request Timeout/);
});

test("An answer that goes on is no slow request, and no 408 is written into it", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  const begun = one.answered();
  await one.write(lines("GET /stream HTTP/1.1", "Host: localhost"));
  await begun;
  here.pass(100);
  await one.write("GET /next HTT");
  here.pass(1 + 10);
  assert.equal(one.its?.writable, true);
  here.pass(1);
  assert.doesNotMatch(await one.all, /408/);
});

test("No 408 is written into an answer that goes on, whatever is slow behind it", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  const begun = one.answered();
  await one.write(lines("GET /stream HTTP/1.1", "Host: localhost"));
  await begun;
  await one.write(`${head}\r\nab`);
  here.pass(1 + 31);
  assert.doesNotMatch(await one.all, /408/);
});

test("An empty line behind a request is none", async (t) => {
  const here = await slow(t);
  const one = await here.connect();
  const answered = one.answered();
  await one.write(`${lines("GET / HTTP/1.1", "Host: localhost")}\r\n`);
  await answered;
  await one.write("\r\n");
  here.pass(60);
  assert.equal(one.its?.writable, true);
  one.its?.destroy();
});

test("A connection that became a WebSocket is nobody's request", async (t) => {
  let taken: unknown;
  const here = await slow(t, (_, socket) => {
    taken = socket;
  });
  const one = await here.connect();
  await one.write(lines("GET / HTTP/1.1", "Host: localhost", "Connection: upgrade", "Upgrade: websocket"));
  here.pass(100);
  assert.equal(taken, one.its);
  assert.equal(one.its?.writable, true);
  one.its?.destroy();
});

test("Nobody is looked for while nobody is connected", async (t) => {
  const here = await slow(t);
  assert.equal(here.isLooking(), false);
  for (let i = 0; i < 2; i++) {
    const one = await here.connect();
    assert.equal(here.isLooking(), true);
    here.pass(5);
    assert.equal(here.isLooking(), true);
    one.socket.destroy();
    if (one.its) await once(one.its, "close");
    here.pass(1);
    assert.equal(here.isLooking(), false);
  }
});
