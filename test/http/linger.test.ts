import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { all, lines, listeningWorld, open, owner } from "../helpers/raw-sockets.ts";

const size = 8 * 1024 * 1024;

const typed = (type: string) => ["Host: localhost", "Connection: close", `Content-Type: ${type}`];

/** Writes these bytes; returns all bytes read. */
async function read(port: number, written: Buffer): Promise<string> {
  const socket = await open(port);
  await new Promise<void>((done, failed) => socket.write(written, (error) => (error ? failed(error) : done())));
  return all(socket);
}

test("a client that closes the connection reads its answer, though it still sends a body that nobody takes", async (t) => {
  const { port } = await listeningWorld(t);
  const body = Buffer.alloc(size, " ");
  const length = [`Content-Length: ${size}`, body] as const;
  const chunk = Buffer.concat([Buffer.from(`${size.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")]);
  for (const [announced, sent] of [length, ["Transfer-Encoding: chunked", chunk]] as const)
    for (const [first, type, status] of [
      ["POST /v1/projects", "application/json", 413],
      ["POST /v1/projects", "text/plain", 415],
      ["PATCH /v1/projects", "application/json", 405],
      ["POST /hooks/code-host/int_unknown", "application/json", 404],
      ["POST /dashboard/unknown", "application/json", 404],
    ] as const) {
      const head = lines(`${first} HTTP/1.1`, ...typed(type), announced);
      const answer = await read(port, Buffer.concat([Buffer.from(head), sent]));
      assert.equal(answer.slice(0, 12), `HTTP/1.1 ${status}`, `${first} ${announced}`);
    }
});

test("a chunked body beyond the limit gets its 413 on a connection that stays open as well", async (t) => {
  const { port } = await listeningWorld(t);
  const body = new ReadableStream({
    pull(controller) {
      for (let sent = 0; sent < size; sent += 65_536) controller.enqueue(new Uint8Array(65_536));
      controller.close();
    },
  });
  const options = { method: "POST", headers: { ...owner, "content-type": "application/json" }, body, duplex: "half" };
  assert.equal((await fetch(`http://127.0.0.1:${port}/v1/projects`, options as RequestInit)).status, 413);
});

test("a body without an end is cut off soon after 16 MiB", async (t) => {
  const { port } = await listeningWorld(t);
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const ended = all(socket);
  socket.write(lines("POST /v1/projects HTTP/1.1", ...typed("text/plain"), "Transfer-Encoding: chunked"));
  const chunk = Buffer.from(`10000\r\n${" ".repeat(65_536)}\r\n`);
  let sent = 0;
  for (let i = 0; i < 65_536 && socket.writable; i++) {
    sent += chunk.length;
    await new Promise((written) => socket.write(chunk, written));
  }
  assert.match(await ended, /^HTTP\/1\.1 415 /);
  assert.ok(socket.destroyed && sent > 16 * 1024 * 1024, `${sent}`);
});

test("what a client sends after the body of its last request is no request", async (t) => {
  const here = await listeningWorld(t);
  const { id } = await here.project();
  const socket = await open(here.port);
  const ended = all(socket);
  socket.write(lines("POST /v1/projects HTTP/1.1", ...typed("text/plain"), "Content-Length: 3"));
  await once(socket, "readable");
  socket.write(`abc${lines(`DELETE /v1/projects/${id} HTTP/1.1`, "Host: localhost")}`);
  assert.equal((await ended).match(/HTTP\/1\.1 /g)?.length, 1);
  assert.equal((await here.send("GET", `/v1/projects/${id}`)).status, 200);
});
