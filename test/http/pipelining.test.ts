import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { get, inFrontOf, upgrade } from "../helpers/raw-app.ts";
import { all, lines, listeningWorld, open, statusesIn } from "../helpers/raw-sockets.ts";
import { until } from "../helpers/until.ts";

const empty = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

test("requests of one connection reach the app one after another, and are answered in their order", async (t) => {
  const asked: string[] = [];
  let running = 0;
  const { ask } = await inFrontOf(t, (socket, received) => {
    running += 1;
    asked.push(`${received.slice(0, received.indexOf(" HTTP"))} beside ${running - 1}`);
    setImmediate(() => {
      running -= 1;
      socket.end(empty);
    });
  });
  const paths = Array.from({ length: 100 }, (_, i) => `/${i}`);
  const sent = paths.map((path) => get(path, path === "/99" ? "close" : "keep-alive")).join("");
  assert.deepEqual(
    statusesIn(await ask(sent)),
    paths.map(() => 200),
  );
  assert.deepEqual(
    asked,
    paths.map((path) => `GET ${path} beside 0`),
  );
});

test("a client that pipelines without end is cut off, and a client has one connection to the app", async (t) => {
  const apps: Socket[] = [];
  const { ask, port, heard } = await inFrontOf(t, (socket, received) => {
    if (received.startsWith("GET /fine ")) socket.end(empty);
    else if (received.startsWith("GET /patient ")) apps.push(socket);
  });
  const endless = await open(port);
  const closed = all(endless);
  endless.write(get("/endless", "keep-alive").repeat(25_000));
  assert.equal(await closed, "");
  const patient = await open(port);
  patient.write(get("/patient", "keep-alive").repeat(200));
  await until(
    () => apps.length > 0,
    () => ask(get("/fine")),
  );
  // The requests that wait go with their client, too.
  const [app] = apps;
  assert.ok(app);
  const left = once(app, "close");
  patient.destroy();
  await left;
  assert.deepEqual(statusesIn(await ask(get("/fine"))), [200]);
  assert.equal(apps.length, 1);
  assert.ok(heard.filter((one) => one.startsWith("GET /endless ")).length <= 1);
});

test("an upgrade that does not wait for earlier answers ends its connection", async (t) => {
  const { ask, heard } = await inFrontOf(t, () => {});
  assert.equal(await ask(get("/slow", "keep-alive") + get("/", upgrade)), "");
  assert.doesNotMatch(heard.join(""), /upgrade/i);
});

test("between two requests of one connection, other connections get their turn", async (t) => {
  const { port } = await listeningWorld(t, { rateLimit: 0 });
  const [many, one] = await Promise.all([open(port), open(port)]);
  const order: string[] = [];
  let received = "";
  many.on("data", (chunk) => {
    received += chunk;
    if (statusesIn(received).length === 250) order.push("the last of many");
  });
  one.on("data", () => order.push("the one"));
  const ends = [once(many, "close"), once(one, "close")];
  const get = lines("GET /v1/me HTTP/1.1", "Host: localhost");
  const last = lines("GET /v1/me HTTP/1.1", "Host: localhost", "Connection: close");
  many.write(get.repeat(249) + last);
  one.write(last);
  await Promise.all(ends);
  assert.deepEqual(order, ["the one", "the last of many"]);
});
