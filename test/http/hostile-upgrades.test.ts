import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type TestContext, test } from "node:test";
import { listen } from "../../lib/http/server.ts";
import { createPasswordHashes } from "../../lib/kernel/secrets/password-hash.ts";
import { createProxy } from "../../lib/platform/proxy/proxy.ts";
import { get, inFrontOf, upgrade } from "../helpers/raw-app.ts";
import { all, open, statusesIn } from "../helpers/raw-sockets.ts";

const empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

test("an app that sends interim answers without end to an upgrade loses it", async (t) => {
  const { ask } = await inFrontOf(t, (socket, received) => {
    const [, status, count] = /^GET \/(\d+)\/(\d+) /.exec(received) ?? [];
    socket.end(`HTTP/1.1 ${status} Interim\r\n\r\n`.repeat(Number(count)) + empty);
  });
  for (const status of [100, 103]) {
    assert.deepEqual(statusesIn(await ask(get(`/${status}/1000`, upgrade))), [200]);
    assert.deepEqual(statusesIn(await ask(get(`/${status}/5000`, upgrade))), [502]);
  }
});

const accepted = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/** A proxy in front of an app whose connections the test answers; it answers other requests by itself. */
async function answeredByTest(t: TestContext) {
  const requests = new EventEmitter();
  const here = await inFrontOf(t, (socket, received) => {
    if (received.startsWith("GET /fine ")) socket.end(empty);
    else if (received.startsWith("GET ")) requests.emit("request", socket, received);
  });
  return {
    ...here,
    /** The next connection to the app, with its first bytes. */
    next: async () => (await once(requests, "request")) as [Socket, string],
    /** After this, the proxy has read what its clients had sent before. */
    turn: async () => assert.deepEqual(statusesIn(await here.ask(get("/fine"))), [200]),
  };
}

for (const sent of ["", "HTTP/1.1 200 OK\r\n\r\nhalf"])
  test(`a client that leaves before its upgrade has ${sent ? "a whole answer" : "an answer"} takes its connection to the app with it`, async (t) => {
    const { port, next } = await answeredByTest(t);
    for (const leave of ["end", "destroy", "resetAndDestroy"] as const)
      for (const early of ["", "frame"]) {
        const client = (await open(port)).on("error", () => {});
        const asked = next();
        client.write(get("/", upgrade));
        const [app] = await asked;
        const closed = once(app, "close");
        if (sent) {
          app.write(sent);
          await once(client, "data");
        }
        if (early) await new Promise((written) => client.write(early, written));
        client[leave]();
        await closed;
      }
  });

test("a client that sends much before its upgrade is answered is closed", async (t) => {
  const { port, next } = await answeredByTest(t);
  const client = (await open(port)).on("error", () => {});
  const asked = next();
  client.write(get("/", upgrade));
  const [app] = await asked;
  client.write(Buffer.alloc(65_537));
  await Promise.all([once(app, "close"), once(client, "close")]);
});

test("a client that leaves while its request waits for the app is not sent to it", async (t) => {
  const { port, proxy, appPort, heard, turn } = await answeredByTest(t);
  const holds = new EventEmitter();
  const state = { port: undefined as number | undefined };
  const up = () => new Promise<boolean>((resolve) => void holds.emit("hold", resolve));
  for (const connection of ["close", upgrade]) {
    const backend = {
      get port() {
        return state.port;
      },
      up,
    };
    state.port = undefined;
    await proxy.route("app", backend);
    const client = await open(port);
    const held = once(holds, "hold");
    client.write(get("/", connection));
    const [resume] = await held;
    client.destroy();
    // Another host is answered by the proxy alone.
    await all((await open(port)).end("GET / HTTP/1.1\r\nHost: other.localhost\r\nConnection: close\r\n\r\n"));
    state.port = appPort;
    resume(true);
    await turn();
    assert.deepEqual(heard.splice(0).length, 1, connection);
  }
});

test("what a client sends right behind its upgrade reaches the app once and in order, also on a second try", async (t) => {
  const { port, next, turn } = await answeredByTest(t);
  const client = await open(port);
  const answer = all(client);
  const first = next();
  client.write(`${get("/", upgrade)}one `);
  const [refusing] = await first;
  client.write("two ");
  await turn();
  const second = next();
  refusing.destroy();
  const [app] = await second;
  const early = "x".repeat(60_000);
  client.write(early);
  await turn();
  let text = "";
  app.on("data", (chunk) => {
    text += chunk;
  });
  app.write(`${accepted}hello `);
  client.write(" three");
  while (!text.endsWith("three")) await once(app, "data");
  assert.equal(text, `one two ${early} three`);
  // The client ends its side only, and the app still answers.
  app.allowHalfOpen = true;
  const ended = once(app, "end");
  client.end();
  await ended;
  app.end("last");
  assert.match(await answer, /^HTTP\/1\.1 101 .*\r\n\r\nhello last$/s);
});

test("an upgrade to an app that is down gets 503 with Retry-After, as its requests do", async (t) => {
  const { ask, proxy } = await inFrontOf(t, () => {});
  await proxy.route("app", { port: undefined, up: async () => false });
  for (const connection of ["close", upgrade])
    assert.match(await ask(get("/", connection)), /^HTTP\/1\.1 503 .*\r\nretry-after: 2\r\n/s);
});

test("a refused upgrade closes its connection, even where the client has sent more and keeps its end open", async (t) => {
  const proxy = createProxy({ behindProxy: false, passwords: createPasswordHashes() });
  const sockets = new EventEmitter();
  const upgraded = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.emit("socket", socket);
    return proxy.upgrade(request, socket, head);
  };
  const server = await listen({ handle: proxy.handle, upgrade: upgraded }, { port: 0, host: "127.0.0.1" });
  t.after(() => server.close("0s"));
  const client = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
  const answer = all(client);
  const given = once(sockets, "socket");
  client.write(get("/", upgrade));
  const [socket] = await given;
  client.write("more");
  await once(socket, "close");
  client.end();
  assert.deepEqual(statusesIn(await answer), [404]);
});
