import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { simulatedDeployments } from "../../lib/index.ts";
import { drainEventLoop } from "../helpers/engine.ts";
import { bearer } from "../helpers/headers.ts";
import { member, withMembers } from "../helpers/members.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { type ListeningWorld, lines, listeningWorld, open, owner } from "../helpers/raw-sockets.ts";
import { parse } from "../helpers/server-sent-events.ts";
import { expect } from "../helpers/test-service.ts";

const path = (id: string) => `/v1/deployments/${id}/logs?follow=true`;
const made = async (here: ListeningWorld) => (await here.deploy((await here.project()).id)).id as string;

/** A followed log over a real connection. */
async function follow(here: ListeningWorld, id: string, headers: Record<string, string> = owner) {
  const control = new AbortController();
  const response = await fetch(`http://127.0.0.1:${here.port}${path(id)}`, { headers, signal: control.signal });
  return { response, control, text: response.text() };
}

test("A log is followed over a socket to its end, and the connection serves the next request", async (t) => {
  const here = await listeningWorld(t);
  const id = await made(here);
  const { response, text } = await follow(here, id);
  assert.deepEqual([response.status, response.headers.get("content-type")], [200, "text/event-stream"]);
  await here.service.clock.advance("1m");
  const events = parse(await text);
  assert.deepEqual(events.at(-1), { id: undefined, event: "end", data: { status: "active" } });
  assert.equal((await here.send("GET", "/v1/me")).status, 200);
});

test("HEAD over a socket has the headers and ends", async (t) => {
  const here = await listeningWorld(t);
  const { status, headers, text } = await here.send("HEAD", path(await made(here)));
  assert.deepEqual([status, headers["content-type"], text], [200, "text/event-stream", ""]);
});

test("close() ends the streams of a socket at once, and says so", { timeout: 9_000 }, async (t) => {
  const here = await listeningWorld(t);
  const { text } = await follow(here, await made(here));
  await here.service.close();
  assert.equal(parse(await text).at(-1)?.data.code, "unavailable");
});

test("A stream over a socket ends when its user is suspended", { timeout: 9_000 }, async (t) => {
  const here = await listeningWorld(t, { seed: withMembers(member("leaver", "viewer")) });
  const { text } = await follow(here, await made(here), bearer("sk_live_leaver"));
  const { data } = expect(await here.call("owner", "GET", "/v1/users"), 200);
  const { id } = data.find(({ name }: { name: string }) => name === "leaver");
  expect(await here.call("owner", "POST", `/v1/users/${id}/suspend`), 200);
  assert.equal(parse(await text).at(-1)?.data.code, "unauthorized");
});

test("A hundred clients that disconnect during a stream leave nothing behind", async (t) => {
  const here = await listeningWorld(t);
  const id = await made(here);
  const all = await Promise.all(Array.from({ length: 100 }, () => follow(here, id)));
  for (const { control } of all) control.abort();
  for (const { text } of all) await assert.rejects(text);
  await here.service.clock.advance("1m");
  const { text } = await follow(here, id);
  assert.equal(parse(await text).at(-1)?.event, "end");
});

test("A reader that takes nothing is cut off, and costs no memory meanwhile", { timeout: 20_000 }, async (t) => {
  const message = "x".repeat(4_000);
  const logs = Array.from({ length: 2_000 }, () => ({ level: "info" as const, message }));
  const driver = simulatedDeployments(() => ({ result: "succeed", logs }));
  const said: string[] = [];
  const note = (text: string, fields = {}) => said.push(`${text} ${JSON.stringify(fields)}`);
  const logger = { error: note, warn: note, info: note, debug() {} };
  const here = await listeningWorld(t, { deployments: { driver }, logger });
  const id = await made(here);
  await here.service.clock.advance("1m");
  mockTime(t, { apis: ["setTimeout"] });
  const socket = await open(here.port);
  socket.pause();
  socket.write(lines(`GET ${path(id)} HTTP/1.1`, "Host: localhost", "X-Request-Id: slow"));
  for (let i = 0; i < 1_000 && !said.some((text) => text.includes("dropped")); i++) {
    t.mock.timers.tick(1_000);
    await drainEventLoop(() => here.call("viewer", "GET", "/v1/me"));
  }
  assert.match(said.find((text) => text.includes("dropped")) ?? "", /half a minute.*slow|slow.*half a minute/);
  const closed = once(socket, "close");
  let size = 0;
  socket.on("data", (chunk) => {
    size += chunk.length;
  });
  socket.on("error", () => {});
  socket.resume();
  await closed;
  assert.ok(size < 8_000_000, `${size} bytes came`);
});
