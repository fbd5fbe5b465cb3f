import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { WebSocket } from "ws";
import { createClient } from "../../lib/client.ts";
import { listeningWorld, owner } from "../helpers/raw-sockets.ts";
import { openStream, refusedStream } from "../helpers/stream-client.ts";
import { keyOf } from "../helpers/test-service.ts";

test("faults apply to the handshake of a WebSocket", async (t) => {
  const here = await listeningWorld(t);
  const { faults } = here.service;
  const match = { path: "/v1/stream" };
  const given = { "retry-after": "7", "x-proxy": "b", "x-ratelimit-remaining": "0" };
  faults.add({ match, respond: { status: 429, headers: given }, times: 1 });
  const answer = await refusedStream(here);
  assert.deepEqual([answer.status, answer.body.error.code], [429, "rate_limited"]);
  for (const [name, value] of Object.entries(given)) assert.equal(answer.headers[name], value);
  for (const respond of [{ drop: true }, { truncate: true }] as const) {
    faults.add({ match, respond, times: 1 });
    const broken = new WebSocket(`ws://127.0.0.1:${here.port}/v1/stream`, { headers: owner });
    const seen: string[] = [];
    broken.on("open", () => seen.push("opened"));
    broken.on("error", ({ message }) => seen.push(message));
    await new Promise((closed) => broken.on("close", closed));
    assert.deepEqual(seen, [respond.drop ? "socket hang up" : "opened"]);
  }
  faults.add({ match, respond: { delay: "60s", headers: given }, times: 1 });
  const late = openStream(t, here);
  const upgraded = once(late.socket, "upgrade");
  let begun = false;
  const beginning = late.begun.then(() => {
    begun = true;
  });
  await here.send("GET", "/healthz"); // arrives after the handshake
  assert.equal(faults.list().at(-1)?.used, 1);
  await here.service.clock.advance("59s");
  assert.equal(begun, false);
  await here.service.clock.advance("1s");
  await beginning;
  const [{ headers }] = (await upgraded) as [IncomingMessage];
  assert.deepEqual([headers["x-proxy"], headers["x-ratelimit-remaining"]], ["b", "0"]);
  await here.project();
  await late.until(1);
  const statuses = here.service.journal.list({ kind: "request" }).map((one) => one.kind === "request" && one.status);
  assert.deepEqual(statuses, [429, null, 101, 200, 101, 201]);
});

test("close() ends the delay of a handshake", async (t) => {
  const here = await listeningWorld(t);
  here.service.faults.add({ match: { path: "/v1/*" }, respond: { delay: "60s" } });
  const waiting = refusedStream(here);
  await here.send("GET", "/healthz"); // arrives after the handshake
  assert.equal(here.service.faults.list()[0]?.used, 1);
  await here.service.close();
  const { status, body } = await waiting;
  assert.deepEqual([status, body.error.code], [503, "unavailable"]);
});

test("a fault that cuts looks the same in process and over a port", async (t) => {
  const here = await listeningWorld(t);
  const { url } = here.service;
  const clients = [here.service.client({ apiKey: keyOf("owner") })];
  clients.push(createClient({ baseUrl: `${url}/v1`, apiKey: keyOf("owner"), retries: 0 }));
  const seenBy = (call: Promise<unknown>) =>
    call.then(
      () => assert.fail("it must break off"),
      ({ name, message, code, status, requestId, cause }) => ({
        ...{ name, code, status, message: status === 0 ? "" : message, hasId: requestId !== undefined },
        causes: [cause.name, cause.message, cause.code, cause.cause?.name, cause.cause?.message, cause.cause?.code],
      }),
    );
  const text = async (ask: typeof fetch, path: string) => (await ask(path, { headers: owner })).text();
  for (const respond of [{ drop: true }, { truncate: true }, { truncate: true, status: 503 }] as const) {
    here.service.faults.add({ respond });
    const [inside, outside] = await Promise.all(clients.map((client) => seenBy(client.me.get())));
    assert.deepEqual(inside, outside);
    const code = "drop" in respond ? "unreachable" : "unreadable";
    assert.deepEqual([inside?.code, inside?.status], [code, "drop" in respond ? 0 : "status" in respond ? 503 : 200]);
    assert.deepEqual(
      await seenBy(text(here.service.fetch as typeof fetch, "/v1/me")),
      await seenBy(text(fetch, `${url}/v1/me`)),
    );
    here.service.faults.clear();
  }
});
