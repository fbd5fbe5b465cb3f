import assert from "node:assert/strict";
import { test } from "node:test";
import { createService } from "../../lib/index.ts";
import { bearer } from "../helpers/headers.ts";
import { type ListeningWorld, listeningWorld } from "../helpers/raw-sockets.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

const asked = (here: ListeningWorld, headers: Record<string, string>) => here.send("GET", "/metrics", { headers });

test("over loopback the metrics need no key, under a loopback name alone", async (t) => {
  const here = await listeningWorld(t, { hosts: ["svc.example.com"] });
  for (const host of [`127.0.0.1:${here.port}`, "localhost", "[::1]:1"])
    assert.equal((await asked(here, { host })).status, 200, host);
  const named = await asked(here, { host: "svc.example.com" });
  assert.deepEqual([named.status, named.body.error.code], [401, "unauthorized"]);
  assert.equal((await asked(here, { host: "evil.example" })).status, 421);
  // A key that is sent decides, although none is needed.
  for (const [authorization, status] of [
    ["Basic eA==", 401],
    ["Bearer sk_live_unknown", 401],
    [`Bearer ${keyOf("viewer")}`, 403],
    [`Bearer ${keyOf("admin")}`, 200],
  ] as const) {
    const got = await asked(here, { authorization });
    assert.deepEqual([got.status, /svc_info/.test(got.text)], [status, false], authorization);
  }
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

const key = "collector-key-of-the-operator";

test("the option metrics.key shows the whole service from everywhere", async (t) => {
  const here = await listeningWorld(t, { behindProxy: true, metrics: { key } });
  const whole = await asked(here, bearer(key));
  assert.equal(whole.status, 200);
  assert.match(whole.text, /svc_info/);
  assert.equal(whole.headers["x-ratelimit-limit"], undefined, "it counts in no window");
  for (const wrong of ["", `${key}x`, key.slice(0, -1), key.toUpperCase()])
    assert.equal((await asked(here, bearer(wrong))).status, 401, wrong);
  assert.equal((await here.send("GET", "/v1/me", { headers: bearer(key) })).status, 401, "it opens nothing else");
  for (const bad of ["short", "sk_live_demo_owner_of_all", "with a space in the middle"])
    await assert.rejects(createService({ metrics: { key: bad } }), /option metrics.key must be 16 to 4096/);
});

test("an owner's or admin's key shows the numbers of that organization alone", async (t) => {
  const here = await listeningWorld(t);
  const { id } = await here.project();
  await here.deploy(id);
  expect(await here.call("owner", "POST", "/v1/generations", { model: "x", input: { prompt: "a lake" } }), 201);
  await here.service.clock.advance("1m");
  await here.deploy(id);
  const shown = async (who?: "owner" | "admin" | "stranger") => {
    const { status, text } = await asked(here, who ? bearer(keyOf(who)) : {});
    assert.equal(status, 200);
    return text;
  };
  for (const who of ["owner", "admin"] as const) {
    const own = await shown(who);
    assert.match(own, /svc_deployments\{state="queued"\} 1\n/);
    assert.match(own, /svc_deployments_total\{state="active"\} 1\n/);
    assert.match(own, /svc_generations_total\{state="completed"\} 1\n/);
  }
  const others = await shown("stranger");
  const values = [...others.matchAll(/^svc_[^ ]+ (.*)$/gm)].map(([, value]) => value);
  assert.ok(values.length > 10 && values.every((value) => value === "0"), others);
  // No metric reveals the process, the requests of other organizations, or the size of their data.
  assert.deepEqual(
    [...others.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name),
    [
      "svc_app_crashes_total",
      "svc_deliveries_pending",
      "svc_deliveries_total",
      "svc_delivery_tries_total",
      "svc_deployments",
      "svc_deployments_total",
      "svc_generations",
      "svc_generations_total",
    ],
  );
  assert.match(await shown(), /svc_http_requests_total/, "over loopback, without a key, it is the whole");
});

test("pending deliveries and unfinished generations are counted for one organization", async (t) => {
  const here = await listeningWorld(t, { generations: { concurrency: 1 } });
  for (const who of ["owner", "stranger"] as const) {
    const hook = { url: `https://${who}.inbox.test/x`, events: ["*"] };
    expect(await here.call(who, "POST", "/v1/webhooks", hook), 201);
  }
  here.service.webhooks.sink("owner", () => new Response(null, { status: 500 }));
  await here.project();
  for (const prompt of ["a lake", "a wood"])
    expect(await here.call("owner", "POST", "/v1/generations", { model: "x", input: { prompt } }), 201);
  await here.service.clock.advance("1s");
  const own = (await asked(here, bearer(keyOf("owner")))).text;
  assert.match(own, /svc_deliveries_pending 1\n/);
  const [queued, running] = ["queued", "in_progress"].map((state) =>
    Number(new RegExp(`svc_generations\\{state="${state}"\\} (\\d+)`).exec(own)?.[1]),
  );
  assert.deepEqual([queued, running], [1, 1]);
  assert.match((await asked(here, bearer(keyOf("stranger")))).text, /svc_deliveries_pending 0\n/);
});
