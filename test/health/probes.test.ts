import assert from "node:assert/strict";
import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { test } from "node:test";
import { yieldToEventLoop } from "../../lib/kernel/node/event-loop.ts";
import { openRaw } from "../../lib/store/sqlite/connection.ts";
import { temporary } from "../helpers/members.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { world } from "../helpers/test-service.ts";

for (const path of ["/healthz", "/readyz"]) {
  test(`${path} answers without a key, and says no more than that all is well`, async (t) => {
    const here = await listeningWorld(t);
    const got = await here.send("GET", path, { headers: {} });
    assert.deepEqual([got.status, got.text], [200, '{"status":"ok"}']);
    assert.equal(got.headers["cache-control"], "no-store");
    assert.match(String(got.headers["x-request-id"]), /^req_/);
    assert.equal(got.headers["x-ratelimit-limit"], undefined, "it counts against no window");
    const head = await here.send("HEAD", path, { headers: {} });
    assert.deepEqual([head.status, head.text, head.headers["content-length"]], [200, "", "15"]);
  });

  test(`${path} takes GET and HEAD alone, under its very name and for known hosts`, async (t) => {
    const here = await listeningWorld(t);
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const { status, headers, body } = await here.send(method, path, { headers: {} });
      assert.deepEqual([status, headers["allow"], body.error.code], [405, "GET, HEAD", "method_not_allowed"], method);
    }
    for (const other of [`${path}/`, `${path}/x`, `/v1${path}`, path.toUpperCase()])
      assert.equal((await here.send("GET", other)).status, 404, other);
    assert.equal((await here.send("GET", `${path}?verbose`)).status, 200);
    const foreign = await here.send("GET", path, { headers: { host: "evil.example" } });
    assert.deepEqual([foreign.status, foreign.body.error.code], [421, "misdirected_request"]);
  });
}

test("while the service shuts down it is alive and not ready", async (t) => {
  const here = await world(t);
  await here.service.close();
  assert.deepEqual((await here.call("nobody", "GET", "/healthz")).body, { status: "ok" });
  for (const path of ["/readyz", "/metrics"]) {
    const { status, headers, body } = await here.call("nobody", "GET", path);
    assert.deepEqual([status, body.error.code, headers.get("retry-after")], [503, "unavailable", "5"]);
    assert.equal(body.meta.request_id, headers.get("x-request-id"));
  }
  assert.equal((await here.call("nobody", "HEAD", "/readyz")).status, 503);
});

test("a service whose database was overwritten is alive and not ready, and its log says why", async (t) => {
  const database = temporary(t);
  const said: string[] = [];
  const note = (message: string, fields = {}) => said.push(`${message} ${JSON.stringify(fields)}`);
  const logger = { error: note, warn() {}, info() {}, debug() {} };
  const here = await world(t, { database, logger });
  assert.equal((await here.call("nobody", "GET", "/readyz")).status, 200);
  // The reads of one turn see one state of the file.
  await yieldToEventLoop();
  // A change by another process makes the service read the file again; by then the file is corrupt.
  const other = openRaw(database);
  other.exec("update settings set value = value");
  other.pragma("wal_checkpoint(TRUNCATE)");
  other.close();
  const file = openSync(database, "r+");
  writeSync(file, Buffer.alloc(statSync(database).size, "x"), 0, undefined, 0);
  closeSync(file);
  const { status, body } = await here.call("nobody", "GET", "/readyz");
  assert.deepEqual([status, body.error.code], [503, "unavailable"]);
  assert.match(said.join("\n"), /the store cannot be read.*reason/);
  assert.equal((await here.call("nobody", "GET", "/healthz")).status, 200);
});
