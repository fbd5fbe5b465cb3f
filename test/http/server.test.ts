import assert from "node:assert/strict";
import { Agent } from "node:http";
import { test } from "node:test";
import { lines, listeningWorld, owner, statusesIn } from "../helpers/raw-sockets.ts";

const json = { ...owner, "content-type": "application/json" };
const order = JSON.stringify({ name: "web", region: "eu-west-1" });

test("It answers over a socket as it does in process", async (t) => {
  const { send, service, port } = await listeningWorld(t);
  assert.equal(service.url, `http://127.0.0.1:${port}`);
  const made = await send("POST", "/v1/projects", { headers: json, body: order });
  assert.equal(made.status, 201);
  assert.equal(made.headers["x-request-id"], made.body.meta.request_id);
  const read = await send("GET", String(made.headers.location));
  assert.equal(read.body.name, "web");
  const head = await send("HEAD", String(made.headers.location));
  assert.equal(head.status, 200);
  assert.equal(head.text, "");
  assert.equal(head.headers["content-length"], String(Buffer.byteLength(read.text)));
  const gone = await send("DELETE", String(made.headers.location));
  assert.equal(gone.status, 204);
  assert.equal(gone.text, "");
  assert.ok(gone.headers["x-request-id"]);
  assert.equal(gone.headers["x-ratelimit-remaining"], "996");
});

test("Several ports can be open at a time, and each closes by itself", async (t) => {
  const { send, service, port } = await listeningWorld(t);
  const second = await service.listen();
  assert.notEqual(second.port, port);
  assert.equal((await fetch(`${second.url}/v1/me`, { headers: owner })).status, 200);
  await second.close();
  await assert.rejects(fetch(`${second.url}/v1/me`));
  assert.equal((await send("GET", "/v1/me")).status, 200);
});

test("It answers to loopback names, the public URL and the option hosts, in any case and with any port", async (t) => {
  const { send, port } = await listeningWorld(t, {
    publicUrl: "https://deploy.example.com:8443",
    hosts: ["svc.internal", "10.0.0.7"],
  });
  for (const host of [
    "localhost",
    "LocalHost",
    "localhost.",
    `localhost:${port}`,
    "127.0.0.1",
    `127.0.0.1:${port}`,
    "127.8.9.10",
    "[::1]",
    `[::1]:${port}`,
    "deploy.example.com",
    "Deploy.Example.com:8443",
    "svc.internal",
    "svc.internal:80",
    "10.0.0.7",
  ]) {
    assert.equal((await send("GET", "/v1/me", { headers: { ...owner, host } })).status, 200, host);
  }
});

test("Any other Host is 421, before the key is checked", async (t) => {
  const { send, raw } = await listeningWorld(t, { addressRateLimit: 5 });
  for (const host of [
    "evil.test",
    "evil.test:7400",
    "localhost.evil.test",
    "127.0.0.1.evil.test",
    "evil.test#localhost",
    "evil.test@localhost",
    "localhost@evil.test",
    "128.0.0.1",
    "0.0.0.0",
    "[::2]",
    "::1",
    "localhost, evil.test",
    "deploy.example.com",
  ]) {
    for (const headers of [{ host }, { ...owner, host }]) {
      const { status, body, headers: got } = await send("GET", "/v1/nothing", { headers });
      assert.equal(status, 421, host);
      assert.equal(body.error.code, "misdirected_request");
      assert.equal(body.meta.request_id, got["x-request-id"]);
      assert.equal(got["x-ratelimit-limit"], "5", "the address's bucket is shown");
    }
  }
  assert.deepEqual(statusesIn(await raw(lines("GET /v1/me HTTP/1.0"))), [421], "no Host at all");
  assert.deepEqual(
    statusesIn(await raw(lines("GET /v1/me HTTP/1.1", "Host:", "Connection: close"))),
    [421],
    "an empty one",
  );
  assert.equal((await send("GET", "/_svc/clock", { headers: { host: "evil.test" } })).status, 421);
});

test("Two Host headers are 400", async (t) => {
  const { raw } = await listeningWorld(t);
  for (const [one, two] of [
    ["Host: localhost", "Host: localhost"],
    ["Host: localhost", "Host: evil.test"],
    ["host: evil.test", "HOST: localhost"],
  ] as const) {
    assert.deepEqual(statusesIn(await raw(lines("GET /v1/me HTTP/1.1", one, two, "Connection: close"))), [400]);
  }
  assert.deepEqual(statusesIn(await raw(lines("GET /v1/me HTTP/1.1", "Connection: close"))), [400], "none is 400 too");
});

test("Behind a proxy the last X-Forwarded-For address counts", async (t) => {
  const { send } = await listeningWorld(t, { behindProxy: true, addressRateLimit: 1 });
  const from = async (...forwarded: string[]) =>
    (await send("GET", "/v1/me", { headers: forwarded.length ? { "x-forwarded-for": forwarded } : {} })).status;
  assert.equal(await from("198.51.100.1"), 401);
  assert.equal(await from("198.51.100.1"), 429);
  assert.equal(await from("203.0.113.9, 198.51.100.1"), 429, "what comes before it, anybody can write");
  assert.equal(await from("203.0.113.9", "198.51.100.1"), 429, "two headers are one list");
  assert.equal(await from("198.51.100.1,198.51.100.2"), 401);
  assert.equal(await from("198.51.100.3"), 401);
  assert.equal(await from("2001:db8:1:2::1"), 401);
  assert.equal(await from("2001:db8:1:3::1"), 401);
  assert.equal(await from(), 401, "without the header the connection's address counts");
  assert.equal(await from(""), 429);
});

test("A /48 of IPv6 has four times the requests of an address, and the others keep theirs", async (t) => {
  const { send } = await listeningWorld(t, { behindProxy: true, addressRateLimit: 2 });
  const from = async (address: string) =>
    (await send("GET", "/v1/me", { headers: { "x-forwarded-for": address } })).status;
  const flood: number[] = [];
  for (let i = 0; i < 10; i++) flood.push(await from(`2001:db8:1:${i.toString(16)}::1`));
  assert.deepEqual(flood, [...Array<number>(8).fill(401), 429, 429]);
  assert.equal(await from("2001:db8:1:ffff::9"), 429);
  assert.equal(await from("2001:db8:2::1"), 401);
  assert.equal(await from("198.51.100.1"), 401);
});

test("What an address is refused does not count for its /48", async (t) => {
  const { send } = await listeningWorld(t, { behindProxy: true, addressRateLimit: 2 });
  const from = async (address: string) =>
    (await send("GET", "/v1/me", { headers: { "x-forwarded-for": address } })).status;
  const flood: number[] = [];
  for (let i = 0; i < 10; i++) flood.push(await from("2001:db8:1:1::1"));
  assert.deepEqual(flood, [401, 401, ...Array<number>(8).fill(429)]);
  assert.equal(await from("2001:db8:1:2::1"), 401);
});

test("Without a proxy X-Forwarded-For means nothing", async (t) => {
  const { send } = await listeningWorld(t, { addressRateLimit: 2 });
  const from = async (address: string) =>
    (await send("GET", "/v1/me", { headers: { "x-forwarded-for": address } })).status;
  assert.deepEqual(
    [await from("198.51.100.1"), await from("198.51.100.2"), await from("198.51.100.3")],
    [401, 401, 429],
  );
});

/** One connection at a time, kept open where both sides can. */
const agentOf = (t: { after(run: () => void): void }) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  return agent;
};

test("After a 413 the client is answered, and the next request of the same client as well", async (t) => {
  const { send } = await listeningWorld(t);
  const agent = agentOf(t);
  for (const size of [1_048_577, 6_000_000]) {
    for (const how of [{ "content-length": String(size) }, { "transfer-encoding": "chunked" }] as Record<
      string,
      string
    >[]) {
      const body = Buffer.alloc(size, " ");
      const { status, body: answer } = await send("POST", "/v1/projects", {
        headers: { ...json, ...how },
        body,
        agent,
      });
      assert.equal(status, 413, JSON.stringify(how));
      assert.equal(answer.error.code, "body_too_large");
      assert.equal((await send("GET", "/v1/me", { agent })).status, 200);
    }
  }
});

test("An unread body is never taken for the next request", async (t) => {
  const { raw } = await listeningWorld(t);
  const hidden = lines("DELETE /v1/projects/unknown HTTP/1.1", "Host: localhost");
  const length = `Content-Length: ${hidden.length}`;
  const last = lines("GET /v1/me HTTP/1.1", "Host: localhost", "Connection: close");
  const large = hidden.padEnd(1_048_577);
  const tooLong = ["Host: localhost", `Content-Length: ${large.length}`, "Content-Type: application/json"];
  for (const [first, status] of [
    [`POST /v1/projects HTTP/1.1\r\nHost: localhost\r\n${length}\r\n\r\n${hidden}`, 401],
    [lines("POST /v1/projects HTTP/1.1", "Host: localhost", length, "Content-Type: text/plain") + hidden, 415],
    [lines("POST /v1/projects HTTP/1.1", ...tooLong) + large, 413],
    [lines("GET /v1/projects HTTP/1.1", "Host: localhost", length) + hidden, 200],
    [lines("PATCH /v1/projects HTTP/1.1", "Host: localhost", length) + hidden, 405],
    [lines("DELETE /v1/projects/x HTTP/1.1", "Host: localhost", length) + hidden, 404],
  ] as const) {
    assert.deepEqual(statusesIn(await raw(first + last)), [status, 200]);
  }
});

test("Requests that are sent at once on one connection are answered in their order", async (t) => {
  const { raw } = await listeningWorld(t);
  const ask = (id: number, more: string[] = []) =>
    lines("GET /v1/projects HTTP/1.1", "Host: localhost", `X-Request-Id: n${id}`, ...more);
  const text = await raw([1, 2, 3, 4].map((id) => ask(id)).join("") + ask(5, ["Connection: close"]));
  assert.deepEqual(
    [...text.matchAll(/^x-request-id: (.+)\r$/gim)].map((found) => found[1]),
    ["n1", "n2", "n3", "n4", "n5"],
  );
});

test("An empty body needs no type, however it is announced", async (t) => {
  const { raw, project, deploy } = await listeningWorld(t);
  const { id } = await project();
  for (const [announced, body] of [
    [[], ""],
    [["Content-Length: 0"], ""],
    [["Transfer-Encoding: chunked"], "0\r\n\r\n"],
  ] as const) {
    const path = `/v1/deployments/${(await deploy(id)).id}/cancel`;
    const head = lines(`POST ${path} HTTP/1.1`, "Host: localhost", "Connection: close", ...announced);
    assert.deepEqual(statusesIn(await raw(head + body)), [200], announced.join());
  }
});

test("The type is asked before the size, whether the size is announced or not", async (t) => {
  const { send } = await listeningWorld(t, { bodyLimit: 50 });
  const headers = { ...owner, "content-type": "text/plain" };
  const body = "x".repeat(60);
  assert.equal((await send("POST", "/v1/projects", { headers, body })).status, 415);
  const chunked = { ...headers, "transfer-encoding": "chunked" };
  assert.equal((await send("POST", "/v1/projects", { headers: chunked, body })).status, 415);
});
