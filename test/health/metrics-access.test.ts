import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer } from "../helpers/headers.ts";
import { type ListeningWorld, listeningWorld } from "../helpers/raw-sockets.ts";
import { keyOf } from "../helpers/test-service.ts";

const asked = (here: ListeningWorld, headers: Record<string, string>) => here.send("GET", "/metrics", { headers });

test("over loopback the metrics need no key, under a loopback name alone", async (t) => {
  const here = await listeningWorld(t, { hosts: ["svc.example.com"] });
  for (const host of [`127.0.0.1:${here.port}`, "localhost", "[::1]:1"])
    assert.equal((await asked(here, { host })).status, 200, host);
  const named = await asked(here, { host: "svc.example.com" });
  assert.deepEqual([named.status, named.body.error.code], [401, "unauthorized"]);
  assert.equal((await asked(here, { host: "evil.example" })).status, 421);
  for (const forwarded of [{ "x-forwarded-for": "203.0.113.9" }, { forwarded: "for=203.0.113.9" }])
    assert.equal((await asked(here, forwarded)).status, 401, "what a proxy hands on is not local");
});

test("behind a proxy every request needs the key of an owner or admin", async (t) => {
  const here = await listeningWorld(t, { behindProxy: true });
  for (const who of ["owner", "admin"] as const) {
    const { status, headers } = await asked(here, bearer(keyOf(who)));
    assert.deepEqual([status, headers["x-ratelimit-limit"]], [200, "1000"]);
  }
  for (const who of ["developer", "viewer"] as const) {
    const { status, body } = await asked(here, bearer(keyOf(who)));
    assert.deepEqual([status, body.error.code], [403, "insufficient_role"]);
  }
  for (const headers of [{}, { authorization: "Bearer sk_live_unknown" }, { authorization: keyOf("owner") }]) {
    const got = await asked(here, headers as Record<string, string>);
    assert.deepEqual([got.status, got.body.error.code], [401, "unauthorized"]);
    assert.equal(got.headers["www-authenticate"], "Bearer");
  }
  const post = await here.send("POST", "/metrics", { headers: bearer(keyOf("owner")) });
  assert.deepEqual([post.status, post.headers["allow"]], [405, "GET, HEAD"]);
  const head = await here.send("HEAD", "/metrics", { headers: bearer(keyOf("owner")) });
  assert.deepEqual([head.status, head.text], [200, ""]);
});
