import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { createOutbound, type OutboundOptions, type Sent } from "../../lib/drivers/outbound/outbound.ts";
import { systemTimer } from "../../lib/kernel/clock.ts";
import { deferred } from "../helpers/temporary-store.ts";
import { type Handler, start, startRaw } from "../helpers/webhook-receiver.ts";

/** The timeout for requests that nothing else ends; the others get more time, for a busy machine. */
const short = { timeout: "150ms" };
const timedOut = { status: null, error: "timeout after 150 ms", response: null };
const ok = "HTTP/1.1 200 OK\r\n";

function sender(t: TestContext, options: Partial<OutboundOptions> = {}) {
  const outbound = createOutbound({ mode: "dev", resolve: async () => ["127.0.0.1"], ...options });
  t.after(outbound.close);
  return { ...outbound, post: (url: string, body = "{}") => outbound.send({ url, headers: {}, body }) };
}

/** How a receiver treats a connection. `reset` breaks it with RST. */
type Behaviour = (socket: Socket, reset: () => void) => void;

/** Sends one request to such a receiver; returns the result, which must come soon after the timeout. */
async function against(
  t: TestContext,
  handler: Behaviour,
  { plain = false, body = "{}", timeout = "10s" } = {},
): Promise<Omit<Sent, "duration_ms">> {
  const there = await startRaw(handler, { plain });
  t.after(there.close);
  const { duration_ms, ...sent } = await sender(t, { timeout }).post(there.url, body);
  assert.ok(duration_ms < 5_000, `${duration_ms} ms`);
  return sent;
}

const failure = (error: string) => ({ status: null, error, response: null });
const answer = (status: number, response = "") => ({ status, error: null, response });
/** Answers at the first byte of the request. */
const saying =
  (text: string | Buffer, then: Behaviour = (socket) => socket.end()): Behaviour =>
  (socket, reset) =>
    socket.once("data", () => socket.write(text, () => then(socket, reset)));
const keepOpen = () => {};

/** Writes the text byte by byte, then repeats it from position `from` until the other side closes. */
function drip(socket: Socket, text: string, from: number) {
  const next = (at: number) => {
    if (socket.destroyed) return;
    socket.write(text.charAt(at));
    systemTimer(5, () => next(at + 1 < text.length ? at + 1 : from));
  };
  next(0);
}

describe("one timeout covers the whole request", () => {
  test("a lookup that never ends", async (t) => {
    const there = await start();
    t.after(there.close);
    const sent = await sender(t, { ...short, resolve: () => deferred<readonly string[]>().promise }).post(there.url);
    assert.equal(sent.error, timedOut.error);
    assert.ok(sent.duration_ms >= 140 && sent.duration_ms < 5_000, `${sent.duration_ms} ms`);
    assert.equal(there.accepted(), 0);
  });

  test("silence after accept, within the handshake, and after it", async (t) => {
    assert.deepEqual(await against(t, keepOpen, { ...short, plain: true }), timedOut);
    const hello = (socket: Socket) => socket.once("data", () => socket.write(Buffer.of(0x16, 0x03, 0x03, 0x00)));
    assert.deepEqual(await against(t, hello, { ...short, plain: true }), timedOut);
    assert.deepEqual(await against(t, keepOpen, short), timedOut);
  });

  test("headers that drip", async (t) => {
    const dripping = (socket: Socket) => drip(socket, `${ok}x: y`, ok.length);
    assert.deepEqual(await against(t, dripping, short), timedOut);
  });

  test("a body that drips: the status counts, and the bytes read so far are stored", async (t) => {
    const dripping = (socket: Socket) => socket.write(`${ok}\r\n`, () => drip(socket, "abc", 0));
    const { response, ...sent } = await against(t, dripping, { timeout: "500ms" });
    assert.deepEqual(sent, { status: 200, error: null });
    assert.match(response ?? "", /^(abc)*(a|ab|)$/);
  });

  test("a request that the receiver never reads", async (t) => {
    const deaf = (socket: Socket) => socket.pause();
    assert.deepEqual(await against(t, deaf, { ...short, body: "x".repeat(32 * 1024 * 1024) }), timedOut);
  });

  test("a minute at most, because no timer runs longer", () => {
    assert.throws(() => createOutbound({ mode: "dev", timeout: "61s" }), /a minute at most, not 61s/);
  });
});

describe("responses that are too large", () => {
  test("400 MB: little is read, and the status counts", async (t) => {
    const chunk = Buffer.alloc(64 * 1024, "x");
    const written = deferred<number>();
    const handler: Handler = (_, response) => {
      const { socket } = response;
      socket?.once("close", () => written.open(socket.bytesWritten));
      response.writeHead(200, { "content-length": 400 * 1024 * 1024 });
      const more = () => {
        while (!response.destroyed && response.write(chunk));
        response.once("drain", more);
      };
      more();
    };
    const there = await start(handler);
    t.after(there.close);
    const before = process.memoryUsage().rss;
    const { duration_ms, ...sent } = await sender(t).post(there.url);
    assert.deepEqual(sent, { status: 200, error: null, response: "x".repeat(1024) });
    assert.ok(duration_ms < 5_000, `${duration_ms} ms`);
    const bytes = await written.promise;
    assert.ok(bytes < 32 * 1024 * 1024, `${bytes} bytes were taken`);
    assert.ok(process.memoryUsage().rss - before < 128 * 1024 * 1024, "memory");
  });

  test("a compressed body stays compressed", async (t) => {
    const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024));
    const there = await start((_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(bomb));
    t.after(there.close);
    const { status, response } = await sender(t).post(there.url);
    assert.equal(status, 200);
    assert.equal(response, bomb.subarray(0, 1024).toString().replaceAll("\0", "\ufffd"));
  });

  test("headers beyond 16 KiB", async (t) => {
    const flood = Array.from({ length: 200 }, (_, i) => `x-${i}: ${"y".repeat(200)}\r\n`).join("");
    assert.deepEqual(await against(t, saying(`${ok}${flood}\r\n`)), failure("headers over 16 KiB"));
  });

  test("endless interim responses fail, and a few do not", async (t) => {
    const hint = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    assert.deepEqual(await against(t, saying(hint.repeat(500), keepOpen)), failure("too many interim answers"));
    const few = `${hint}HTTP/1.1 100 Continue\r\n\r\n${ok}\r\nfine`;
    assert.deepEqual(await against(t, saying(few)), answer(200, "fine"));
  });
});

describe("malformed responses", () => {
  test("garbage", async (t) => {
    for (const text of [
      "SSH-2.0-OpenSSH_9.2\r\n",
      "<html>fine</html>",
      "HTTP/1.1 2OO OK\r\n\r\n",
      "HTTP/1.1 1000 x\r\n\r\n",
    ])
      assert.deepEqual(await against(t, saying(text)), failure("not an HTTP answer"), text);
    const binary = Buffer.from(Array.from({ length: 256 }, (_, i) => 255 - i));
    assert.deepEqual(await against(t, saying(binary)), failure("not an HTTP answer"));
    assert.deepEqual(await against(t, saying("HTTP/1.1 099 x\r\n\r\n")), failure("not an HTTP answer"));
    const twice = `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\nab`;
    assert.deepEqual(await against(t, saying(twice)), failure("not an HTTP answer"));
  });

  test("unknown statuses, and another protocol", async (t) => {
    assert.deepEqual(await against(t, saying("HTTP/1.1 999 Odd\r\n\r\n")), answer(999));
    assert.deepEqual(await against(t, saying("HTTP/1.0 200\r\n\r\nold")), answer(200, "old"));
    const upgrade = "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nmore";
    assert.deepEqual(await against(t, saying(upgrade, keepOpen)), answer(101));
  });

  test("an end before the status, and one after it", async (t) => {
    const close: Behaviour = (socket) => socket.destroy();
    const reset: Behaviour = (_, rst) => rst();
    for (const leave of [close, reset]) {
      assert.deepEqual(await against(t, leave, { plain: true }), failure("connection reset"));
      assert.deepEqual(await against(t, leave), failure("connection reset"));
      assert.deepEqual(await against(t, saying("HTTP/1.1 200", leave)), failure("connection reset"));
    }
    assert.deepEqual(await against(t, saying(`${ok}content-length: 99\r\n\r\nhalf`)), answer(200, "half"));
    const { status, error } = await against(t, saying(`${ok}content-length: 99\r\n\r\nhalf`, reset));
    assert.deepEqual([status, error], [200, null]);
  });

  test("a response before the request was read counts, and its connection is closed", async (t) => {
    const there = await startRaw((socket) => socket.pause().write(`${ok}content-length: 5\r\n\r\nearly`));
    t.after(there.close);
    const { post } = sender(t);
    const body = "x".repeat(12 * 1024 * 1024);
    // If the other connections were held, the last request would wait.
    for (let i = 0; i < 17; i += 1) assert.equal((await post(there.url, body)).response, "early");
  });

  test("a receiver without TLS, and one that ends the handshake", async (t) => {
    const plain = await against(t, saying("HTTP/1.1 400 Bad Request\r\n\r\n"), { plain: true });
    assert.match(plain.error ?? "", /^TLS: [a-z0-9 ]+$/);
    const refusal = await against(t, saying(Buffer.of(0x15, 3, 3, 0, 2, 2, 70)), { plain: true });
    assert.match(refusal.error ?? "", /^TLS: [a-z0-9 ]*protocol version$/);
  });
});

test("closing cancels requests in flight, and refuses later ones", async (t) => {
  const arrived = deferred();
  const there = await startRaw((socket) => socket.once("data", () => arrived.open()));
  t.after(there.close);
  const { post, close } = sender(t, { timeout: "60s" });
  const sent = post(there.url);
  await arrived.promise;
  await close();
  assert.equal((await sent).error, "shutting down");
  assert.equal((await post(there.url)).error, "shutting down");
  assert.equal(there.accepted(), 1);
});
