import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { trackConnections } from "../../lib/http/limits/connections.ts";
import { listen } from "../../lib/http/server.ts";
import { all, lines, listeningWorld, open } from "../helpers/raw-sockets.ts";

test("closing waits for an answer that its reader takes slowly", async () => {
  const size = 8 * 1024 * 1024;
  const server = await listen(
    { handle: (_, reply) => reply.end(Buffer.alloc(size)), upgrade: () => {} },
    { port: 0, host: "127.0.0.1" },
  );
  const socket = await open(server.port);
  socket.write(lines("GET / HTTP/1.1", "Host: localhost"));
  await once(socket, "readable");
  const closed = server.close();
  let read = 0;
  socket.on("data", (chunk: Buffer) => {
    read += chunk.length;
  });
  await once(socket, "close");
  await closed;
  assert.ok(read > size, `${read}`);
});

test("a refused WebSocket closes its connection, even where the client keeps its end open", async (t) => {
  const { port } = await listeningWorld(t);
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.write("GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  socket.resume();
  await once(socket, "end");
  const [error] = await Promise.all([
    once(socket, "error"),
    (async () => {
      for (let i = 0; i < 10_000 && !socket.destroyed; i++) await new Promise((written) => socket.write("x", written));
    })(),
  ]);
  assert.match(String(error), /ECONNRESET|EPIPE/);
});

test("an unknown Expect is 417, and the connection stays open", async (t) => {
  const { port } = await listeningWorld(t);
  const socket = await open(port);
  const ended = all(socket);
  socket.write(lines("GET /v1/me HTTP/1.1", "Host: localhost", "Expect: more"));
  socket.write(lines("GET /v1/me HTTP/1.1", "Host: localhost", "Connection: close"));
  assert.match(await ended, /^HTTP\/1\.1 417 .*HTTP\/1\.1 200 /s);
});

test("connections that are closed for new ones are counted, and logged once when that begins and once when it ends", async (t) => {
  const server = createServer();
  const logged: string[] = [];
  let count = 0;
  const relieved = new Promise<void>((done) => {
    const note = (level: string) => (message: string) => void logged.push(`${level} ${message}`);
    const log = { warn: note("warn"), info: (message: string) => done(note("info")(message)) };
    const dropped = () => {
      count += 1;
    };
    trackConnections(server, { log, dropped }, { most: 4 });
  });
  server.listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sockets = [];
  for (let i = 0; i < 10; i++) {
    const accepted = once(server, "connection");
    sockets.push(await open(port));
    await accepted;
  }
  assert.equal(count, 6);
  assert.equal(logged.length, 1);
  assert.match(logged[0] ?? "", /^warn 4 connections are open, /);
  for (const socket of sockets) socket.destroy();
  await relieved;
  assert.deepEqual(logged.slice(1), ["info there is room for connections again"]);
});

/** A server with at most this many connections, and its clients. */
async function limited(t: TestContext, most: number) {
  const server = createServer();
  const connections = trackConnections(server, undefined, { most });
  const reply = (response: ServerResponse) => response.end();
  server.on("request", (_, response) => void (connections.answering(response, reply) && reply(response)));
  server.listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connected = async () => {
    const accepted = once(server, "connection");
    const socket = await open(port);
    await accepted;
    return socket;
  };
  const asks = async (socket: Socket) => {
    const answer = Promise.race([once(socket, "data"), once(socket, "close")]);
    socket.write(lines("GET / HTTP/1.1", "Host: localhost"));
    assert.match(String((await answer)[0]), /^HTTP\/1\.1 200 /);
  };
  return { connected, asks };
}

test("a new connection is answered also if all others have asked: the first of them makes room", async (t) => {
  const { connected, asks } = await limited(t, 4);
  const sockets: Socket[] = [];
  for (let i = 0; i < 20; i++) {
    const closed = sockets[i - 4] && once(sockets[i - 4] as Socket, "close");
    const socket = await connected();
    sockets.push(socket);
    await asks(socket);
    await closed;
  }
  for (const socket of sockets) socket.destroy();
});

test("room is made by the connection whose last request is the oldest, not by the one that came first", async (t) => {
  const { connected, asks } = await limited(t, 2);
  const [first, second] = [await connected(), await connected()];
  await asks(first);
  const closed = [first, second].map(async (socket, i) => {
    await once(socket.resume(), "close");
    return i;
  });
  const third = await connected();
  assert.equal(await Promise.race(closed), 1);
  await asks(first);
  await asks(third);
  first.destroy();
  third.destroy();
});

test("a connection at one port closes one that waits at another: their descriptors are the same", async (t) => {
  const most = 4;
  const dropped = [0, 0];
  const servers = [2, 1].map((descriptors, at) => {
    const server = createServer().listen(0);
    const count = () => {
      dropped[at] = (dropped[at] ?? 0) + 1;
    };
    trackConnections(server, { log: { warn() {}, info() {} }, dropped: count }, { most, descriptors });
    t.after(() => server.close());
    return server;
  });
  const sockets = [];
  for (const at of [0, 0, 1, 1, 1]) {
    const server = servers[at];
    assert.ok(server);
    if (!server.listening) await once(server, "listening");
    const accepted = once(server, "connection");
    sockets.push(await open((server.address() as AddressInfo).port));
    await accepted;
  }
  assert.deepEqual(dropped, [2, 0]);
  for (const socket of sockets) socket.destroy();
});
