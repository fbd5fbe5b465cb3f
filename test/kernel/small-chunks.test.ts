import assert from "node:assert/strict";
import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { type TestContext, test } from "node:test";
import { createChunkJoiner } from "../../lib/kernel/node/small-chunks.ts";
import { replaceSystemTime } from "../../lib/kernel/node/system.ts";
import fc from "../helpers/fast-check.ts";

const joinSmallChunks = createChunkJoiner();

/** A server that answers with what it read, and how often it was called back. */
async function echo(t: TestContext, connections = 0) {
  const called: number[] = [];
  const server = createServer((incoming, response) => {
    joinSmallChunks(incoming);
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      called.push(parts.length);
      response.end(Buffer.concat(parts));
    });
  });
  let accepted = 0;
  /** Resolves when so many connections are there. */
  const connected = new Promise<void>((resolve) => {
    server.on("connection", () => ++accepted === connections && resolve());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  /** Resolves when the last connection has ended, so that nothing of it is read during another test. */
  const ended = () => new Promise((resolve) => server.close(resolve));
  return { port: (server.address() as AddressInfo).port, called, ended, connected };
}

const chunked = (parts: readonly string[]) => {
  const chunks = parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`);
  return `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join("")}0\r\n\r\n`;
};

/** Sends bytes once the signal to begin has come, and returns the body of the answer. */
const send = (port: number, text: string, localAddress = "127.0.0.1", begin: Promise<unknown> = Promise.resolve()) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    socket.once("error", reject);
    void begin.then(() => socket.write(text));
    socket.toArray().then((parts) => resolve(Buffer.concat(parts).toString().split("\r\n\r\n")[1] ?? ""), reject);
  });

test("a body in chunks of one byte is read in few parts", async (t) => {
  const { port, called } = await echo(t);
  const text = "0123456789".repeat(10_000);
  assert.equal(await send(port, chunked([...text])), text);
  assert.ok((called[0] ?? Number.NaN) < 1_000, `${called[0]} parts`);
});

test("every sequence of chunks has the same bytes afterwards", async (t) => {
  const { port } = await echo(t);
  const sizes = fc.array(fc.oneof({ weight: 20, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 3_000 })), {
    minLength: 1,
    maxLength: 400,
  });
  await fc.assert(
    fc.asyncProperty(sizes, async (lengths) => {
      const parts = lengths.map((length, i) => String(i % 10).repeat(length));
      assert.equal(await send(port, chunked(parts)), parts.join(""));
    }),
    { numRuns: 30 },
  );
});

test("a chunk that comes alone is passed on alone", async (t) => {
  const server = createServer((_, response) => {
    let sent = 0;
    const next = () => (sent++ < 200 ? response.write(`${sent};`) : response.end());
    response.writeHead(200).flushHeaders();
    server.on("next", next);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const answer = await new Promise<IncomingMessage>((resolve) => {
    request({ port: (server.address() as AddressInfo).port }, (response) => {
      joinSmallChunks(response);
      resolve(response);
    }).end();
  });
  // The next chunk is sent only after this one has arrived.
  server.emit("next");
  let text = "";
  for await (const part of answer) {
    text += part;
    server.emit("next");
  }
  assert.equal(text, Array.from({ length: 200 }, (_, i) => `${i + 1};`).join(""));
});

test("nobody waits for the small chunks of clients that have left", async (t) => {
  const { port, called, ended } = await echo(t);
  const real = { setTimeout, clearTimeout, now: Date.now, monotonic: performance.now.bind(performance) };
  let paused_ms = 0;
  const counted = (work: () => void, ms: number) => {
    paused_ms += ms;
    return setImmediate(work);
  };
  replaceSystemTime({ ...real, setTimeout: counted as never });
  t.after(() => replaceSystemTime(real));
  // Each connection alone would take 100 ms of pauses.
  const left = Array.from({ length: 150 }, async () => {
    const socket = connect(port, "127.0.0.1");
    const text = chunked(Array(10_000).fill("x")).slice(0, -5);
    await new Promise((resolve) => socket.write(text, resolve));
    socket.resetAndDestroy();
  });
  await Promise.all(left);
  const text = "0123456789".repeat(50);
  assert.equal(await send(port, chunked([...text])), text);
  assert.equal(called.length, 1);
  assert.ok(paused_ms < 150 * 100, `${paused_ms} ms of pauses`);
  await ended();
});

test("the small chunks of one address do not wait for all those of another", async (t) => {
  const { port, connected } = await echo(t, 41);
  const ended: string[] = [];
  // All are connected first, so the order is not that in which the machine connects them.
  const sent = async (name: string, text: string, from?: string) => {
    assert.equal(await send(port, chunked([...text]), from, connected), text);
    ended.push(name);
  };
  const many = Array.from({ length: 40 }, () => sent("many", "x".repeat(800), "127.0.0.2"));
  await Promise.all([...many, sent("one", "0123456789".repeat(50))]);
  assert.ok(ended.indexOf("one") < 20, `${ended.indexOf("one")} came first`);
});

test("an error in one message does not stop the small chunks of others", { timeout: 10_000 }, async (t) => {
  const server = createServer((incoming, response) => {
    joinSmallChunks(incoming);
    let size = 0;
    incoming.on("error", () => {});
    incoming.on("data", (part: Buffer) => {
      size += part.length;
      if (incoming.url === "/bad" && part.length > 64) throw new Error("a fault of the reader");
    });
    incoming.on("end", () => response.end(String(size)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const body = chunked(Array(500).fill("x"));
  const bad = send(port, body.replace("POST /", "POST /bad"));
  const good = [2, 3].map((i) => send(port, body, `127.0.0.${i}`));
  assert.deepEqual(await Promise.all(good), ["500", "500"]);
  await bad.catch(() => {});
});
