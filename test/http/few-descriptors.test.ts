import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { bearer } from "../helpers/headers.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { all, open } from "../helpers/raw-sockets.ts";

/** Slow clients send this, then nothing more. None of them needs a key. */
const slow = {
  nothing: "",
  "half a head": "GET /v1/me HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
  "half a body":
    "POST /hooks/code-host HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
  "a handshake without a key":
    "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
};

/** Opens this many connections, and keeps them open as far as the server allows. */
async function flood(t: TestContext, port: number, count: number, text: string): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect({ port, host: "127.0.0.1" }));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((done) =>
          socket.on("error", () => done()).on("connect", () => socket.write(text, () => done())),
        ),
    ),
  );
  return sockets;
}

for (const [name, text] of Object.entries(slow)) {
  test(`with 128 descriptors and 400 connections that send ${name}, others are answered`, {
    skip: process.platform === "win32",
  }, async (t) => {
    const here = await launch(t, ["dev", "--port", "0"], undefined, { limits: "-n 128" });
    const port = Number(new URL(here.url).port);
    const head = `GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${here.api_key}\r\n`;
    const kept = await open(port);
    kept.write(`${head}\r\n`);
    const stream = new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, { headers: bearer(here.api_key) });
    await once(stream, "open");
    const crowd = await flood(t, port, 400, text);
    for (let i = 0; i < 20; i++) {
      const socket = await open(port);
      socket.write(`${head}Connection: close\r\n\r\n`);
      assert.match(await all(socket), /^HTTP\/1\.1 200 OK\r\n/);
    }
    const metrics = await (await fetch(`${here.url}/metrics`)).text();
    const dropped = Number(/^svc_connections_dropped_total (\d+)$/m.exec(metrics)?.[1]);
    assert.ok(dropped >= 400 - 64, `${dropped} connections were closed`);
    assert.equal(stream.readyState, stream.OPEN, "what is open and answered stays");
    // Closed first, since a stop waits for bodies that still arrive.
    for (const socket of [kept, ...crowd]) socket.destroy();
    assert.equal((await here.stop()).code, 0);
    // One log line for all closed connections.
    const [line = "", ...more] = here.errors().trim().split("\n");
    assert.match(
      line,
      /"level":"warn","message":"64 connections are open, .* closes the connection that has waited longest/,
    );
    assert.deepEqual(more, []);
  });
}

/** Two organizations; `Ada` has the key `sk_live_demo_ada`, and so on. */
function seedOfTwo(t: TestContext): string {
  const path = join(temporaryFolder(t), "seed.json");
  const projects = [{ name: "web", region: "eu-west-1", environments: [{ name: "production" }] }];
  const organizations = ["ada", "bob"].map((name) => {
    const keys = [{ name, key: `sk_live_demo_${name}`, scopes: ["*"] }];
    return { name, users: [{ name, email: `${name}@acme.test`, role: "owner", keys }], projects };
  });
  writeFileSync(path, JSON.stringify({ organizations }));
  return path;
}

/** Whether a stream begins: a WebSocket with a ping, a followed log with 200. */
const begins = (socket: Socket) =>
  new Promise<boolean>((resolve) => {
    let text = "";
    socket.on("close", () => resolve(false));
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
      const [, status, frame] = /^HTTP\/1\.1 (\d+) .*?\r\n\r\n([\x88\x89])?/s.exec(text) ?? [];
      if (status === "101" ? frame : status) resolve(frame === "\x89" || status === "200");
    });
  });

for (const kind of ["WebSockets", "followed logs"])
  test(`with 128 descriptors and 100 ${kind} of one organization, another's clients are answered and its stream stays`, {
    skip: process.platform === "win32",
  }, async (t) => {
    const words = ["dev", "--port", "0", "--clock", "manual", "--seed", seedOfTwo(t)];
    const here = await launch(t, words, undefined, { limits: "-n 128" });
    const port = Number(new URL(here.url).port);
    const stream = new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, { headers: bearer("sk_live_demo_bob") });
    await once(stream, "open");
    const headers = { ...bearer("sk_live_demo_ada"), "content-type": "application/json" };
    const projects = await fetch(`${here.url}/v1/projects`, { headers });
    const { data } = (await projects.json()) as { data: { id: string }[] };
    const source = { type: "git", repo: "acme/web", branch: "main" };
    const body = JSON.stringify({ project_id: data[0]?.id, environment: "production", source });
    const deployed = await fetch(`${here.url}/v1/deployments`, { method: "POST", headers, body });
    const { id } = (await deployed.json()) as { id: string };
    const path = kind === "WebSockets" ? "/v1/stream" : `/v1/deployments/${id}/logs?follow=true`;
    const upgrade =
      kind === "WebSockets"
        ? "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        : "";
    const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk_live_demo_ada\r\n${upgrade}\r\n`;
    const crowd: Socket[] = [];
    t.after(() => {
      for (const socket of crowd) socket.destroy();
    });
    let begun = 0;
    for (let i = 0; i < 100; i++) {
      const socket = connect({ port, host: "127.0.0.1" });
      crowd.push(socket.on("error", () => {}));
      socket.write(head);
      if (await begins(socket)) begun += 1;
      // What a refused client still sends ends nobody else.
      else socket.write(Buffer.alloc(8_000, 0xff));
    }
    assert.equal(begun, 32, "an organization gets half of the 64 connections");
    for (let i = 0; i < 20; i++) {
      const socket = await open(port);
      socket.write(
        "GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk_live_demo_bob\r\nConnection: close\r\n\r\n",
      );
      assert.match(await all(socket), /^HTTP\/1\.1 200 OK\r\n/);
    }
    assert.equal(stream.readyState, stream.OPEN);
    for (const socket of crowd) socket.destroy();
    assert.equal((await here.stop()).code, 0);
  });

test("with 128 descriptors and 400 slow connections at the port of the apps, the other port answers", {
  skip: process.platform === "win32",
}, async (t) => {
  const words = ["dev", "--port", "0", "--apps-port", "0", "--runtime", "process", "--isolation", "none"];
  const here = await launch(t, words, undefined, { limits: "-n 128" });
  const [port, apps] = [here.url, here.apps_url ?? ""].map((url) => Number(new URL(url).port));
  assert.ok(port && apps);
  const crowds = [await flood(t, apps, 400, slow["half a head"]), await flood(t, port, 400, slow["half a head"])];
  // Starts at the port flooded last, whose queue still has connections to accept.
  for (let i = 0; i < 20; i++) {
    const socket = await open(i % 2 ? apps : port);
    const head = `GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${here.api_key}\r\n`;
    socket.write(`${head}Connection: close\r\n\r\n`);
    assert.match(await all(socket), i % 2 ? /^HTTP\/1\.1 404 Not Found\r\n/ : /^HTTP\/1\.1 200 OK\r\n/);
  }
  for (const socket of crowds.flat()) socket.destroy();
  assert.equal((await here.stop()).code, 0);
  // One log line for each port that closed connections.
  const logged = here.errors().match(/"level":"warn","message":"\d+ connections are open, /g) ?? [];
  assert.equal(logged.length, 2, here.errors());
});

test("with 128 descriptors and 256 deliveries to a receiver that never answers, callers are answered", {
  skip: process.platform === "win32",
}, async (t) => {
  const here = await launch(t, ["dev", "--port", "0"], undefined, { limits: "-n 128" });
  const open = new Set<Socket>();
  let most = 0;
  const receiver = createServer((socket) => {
    open.add(socket.on("error", () => {}).on("close", () => open.delete(socket)));
    most = Math.max(most, open.size);
    if (open.size === 32) receiver.emit("full");
  }).listen(0, "127.0.0.1");
  t.after(() => receiver.close());
  await once(receiver, "listening");
  const full = once(receiver, "full");
  const call = async (path: string, body: object) => {
    const headers = { ...bearer(here.api_key), "content-type": "application/json" };
    const { status } = await fetch(`${here.url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(status, 201);
  };
  const { port } = receiver.address() as AddressInfo;
  for (let i = 0; i < 8; i++) await call("/webhooks", { url: `https://127.0.0.1:${port}/`, events: ["*"] });
  for (let i = 0; i < 32; i++) await call("/projects", { name: `web-${i}`, region: "eu-west-1" });
  await full;
  // Each request on its own connection.
  for (let i = 0; i < 64; i++) {
    const answer = await fetch(`${here.url}/v1/me`, { headers: { ...bearer(here.api_key), connection: "close" } });
    assert.equal(answer.status, 200);
  }
  assert.equal(most, 32);
  receiver.close();
  for (const socket of open) socket.destroy();
  assert.equal((await here.stop()).code, 0);
  assert.equal(here.errors(), "");
});
