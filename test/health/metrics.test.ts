import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { exposition } from "../../lib/composition/health/prometheus-text.ts";
import { lifecycle as deployment } from "../../lib/features/deployments/states.ts";
import { lifecycle as generation } from "../../lib/features/generations/states.ts";
import { bounds, createMeter } from "../../lib/http/request-metrics.ts";
import fc from "../helpers/fast-check.ts";
import { listeningWorld, owner } from "../helpers/raw-sockets.ts";
import { openStream } from "../helpers/stream-client.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const line = /^([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\[\\n"])*",?)+)\})? (-?[\d.e+-]+|[+-]Inf|NaN)$/;
const label = /([a-z]+)="((?:[^"\\]|\\.)*)"/g;
const unescaped = (text: string) => text.replace(/\\(.)/g, (_, one) => (one === "n" ? "\n" : one));

/** Parses the text format strictly: every sample must follow the head of its family. */
function read(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  let family = "";
  for (const row of text.split("\n").slice(0, -1)) {
    const [, named] = /^# (?:HELP|TYPE) ([a-z_]+) .+$/.exec(row) ?? [];
    family = named ?? family;
    if (named) continue;
    const [, name = "", labels = "", value] = line.exec(row) ?? assert.fail(`no sample: ${row}`);
    assert.ok(name.replace(/_(bucket|sum|count)$/, "") === family || name === family, `${name} under ${family}`);
    const pairs = [...labels.matchAll(label)].map(([, key, of = ""]) => `${key}=${unescaped(of)}`);
    const key = [name, ...pairs].join(" ");
    assert.ok(!samples.has(key), `${key} twice`);
    samples.set(key, Number(value?.replace("Inf", "Infinity")));
  }
  return samples;
}

async function scrape(here: World): Promise<Map<string, number>> {
  const response = await here.service.fetch("/metrics");
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  return read(await response.text());
}

test("any text in a label or a help is read back unchanged", () => {
  const text = fc.string({ unit: fc.constantFrom("a", '"', "\\", "\n", "{", "}", ",", "=", " ", "ü", "n") });
  const value = fc.oneof(fc.double({ noNaN: true }), fc.integer());
  fc.assert(
    fc.property(fc.uniqueArray(text, { minLength: 1 }), text, value, (labels, help, value) => {
      const samples = labels.map((of) => ({ labels: { of }, value }));
      const samplesRead = read(exposition([{ name: "a", type: "gauge", help: `h${help}`, samples }]));
      assert.deepEqual(
        [...samplesRead.keys()],
        labels.map((of) => `a of=${of}`),
      );
      for (const got of samplesRead.values()) assert.ok(got === value, `${got} for ${value}`);
    }),
  );
});

test("each duration falls into the first bucket that holds it", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 60_000, noNaN: true })), (all) => {
      const meter = createMeter();
      const count = meter.count("a");
      for (const ms of all) count(200, ms);
      const { buckets = [], statuses } = meter.requests.get("a") ?? {};
      const ends = [...bounds, Number.POSITIVE_INFINITY];
      const within = (i: number) => all.filter((ms) => ms / 1000 <= (ends[i] ?? 0) && ms / 1000 > (ends[i - 1] ?? -1));
      assert.deepEqual(
        buckets,
        ends.map((_, i) => within(i).length),
      );
      assert.equal(statuses?.get(200) ?? 0, all.length);
    }),
  );
});

test("requests are counted by operation and status, with how long they took", async (t) => {
  const here = await world(t);
  for (const name of ["one-a", "one-b"]) await here.project(name);
  expect(await here.call("owner", "POST", "/v1/projects", {}), 422);
  expect(await here.call("viewer", "POST", "/v1/projects", {}), 403);
  expect(await here.call("nobody", "GET", "/v1/projects"), 401);
  expect(await here.call("owner", "PATCH", "/v1/projects"), 405);
  expect(await here.call("owner", "GET", "/v1/nothing"), 404);
  const of = await scrape(here);
  const counted = (operation: string, status: number) =>
    of.get(`svc_http_requests_total operation=${operation} status=${status}`);
  assert.equal(counted("projects.create", 201), 2);
  assert.equal(counted("projects.create", 422), 1);
  assert.equal(counted("projects.create", 403), 1);
  assert.equal(counted("projects.list", 401), 1);
  assert.equal(counted("none", 405), 1);
  assert.equal(counted("none", 404), 1);
  assert.equal(counted("users.list", 200), undefined, "what nobody called is not there");
  const name = "svc_http_request_duration_seconds";
  const buckets = [...bounds, "+Inf"].map((le) => of.get(`${name}_bucket operation=projects.create le=${le}`) ?? -1);
  assert.deepEqual(
    buckets,
    buckets.toSorted((a, b) => a - b),
  );
  assert.equal(buckets.at(-1), 4);
  assert.equal(of.get(`${name}_count operation=projects.create`), 4);
  assert.ok((of.get(`${name}_sum operation=projects.create`) ?? 0) > 0);
});

test("counters are there as 0 before they count", async (t) => {
  const fresh = await scrape(await world(t));
  const labels = {
    ...{ "svc_deliveries_total outcome": ["succeeded", "abandoned"] },
    ...{ "svc_delivery_tries_total outcome": ["succeeded", "failed"] },
    ...{ "svc_deployments_total state": deployment.states, "svc_generations_total state": generation.states },
  };
  const named = Object.entries(labels).flatMap(([name, values]) => values.map((value) => `${name}=${value}`));
  assert.deepEqual(
    [...fresh].filter(([key]) => /^svc_(deliver|deployments|generations)\w*_total /.test(key)),
    named.map((key) => [key, 0]),
  );
});

test("waiting and ended work is counted", async (t) => {
  const answers = [500, 200];
  const transport = async () => new Response(null, { status: answers.shift() ?? 500 });
  const here = await world(t, { transport });
  const { clock } = here.service;
  const url = "https://hook.example.com/in";
  const events = ["deployment.started"];
  expect(await here.call("owner", "POST", "/v1/webhooks", { url, events, secret: "whsec_demo" }), 201);
  const project = await here.project();
  const before = await scrape(here);
  assert.equal(before.get("svc_deployments state=queued"), 0);
  assert.equal(before.get("svc_deliveries_pending"), 0);
  assert.equal(before.get("svc_jobs state=waiting"), 1, "the periodic one");
  await here.deploy(project.id);
  await here.deploy(project.id);
  const queued = await scrape(here);
  assert.equal(queued.get("svc_deployments state=queued"), 2);
  assert.equal(queued.get("svc_deployments_total state=queued"), 2);
  await clock.advance("2s");
  const building = await scrape(here);
  assert.equal(building.get("svc_deployments state=queued"), 1);
  assert.equal(building.get("svc_deployments state=building"), 1);
  assert.equal(building.get("svc_deliveries_pending"), 1);
  assert.equal(building.get("svc_delivery_tries_total outcome=failed"), 1);
  await clock.advance("30s");
  const tried = await scrape(here);
  assert.equal(tried.get("svc_delivery_tries_total outcome=succeeded"), 1);
  assert.equal(tried.get("svc_deliveries_total outcome=succeeded"), 1);
  await clock.advance("4h");
  const ended = await scrape(here);
  assert.equal(ended.get("svc_deployments_total state=active"), 2);
  assert.equal(ended.get("svc_deployments state=building"), 0);
  assert.equal(ended.get("svc_deliveries_pending"), 0);
  assert.equal(ended.get("svc_deliveries_total outcome=abandoned"), 1);
  assert.equal(ended.get("svc_delivery_tries_total outcome=failed"), 6);
});

test("waiting work is counted up to 10,000", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const here = await world(t, { database });
  const file = new Database(database);
  file.exec(`with recursive n (i) as (select 1 union all select i + 1 from n where i < 10001)
    insert into jobs select 'job_Z' || i, 'deployments.turns', '{}', 'waiting', '2027-01-01', 0, 0, 0, null, null, 0 from n`);
  file.close();
  assert.equal((await scrape(here)).get("svc_jobs state=waiting"), 10_000);
});

test("generations are counted by state, and the lag of jobs is measured", async (t) => {
  const here = await world(t, { clock: "manual@2026-01-01T00:00:00Z", generations: { concurrency: 1 } });
  for (const prompt of ["a lake", "a wood"])
    expect(
      await here.call("owner", "POST", "/v1/generations", { model: "x", resolution: "32x32", input: { prompt } }),
      201,
    );
  const early = await scrape(here);
  assert.equal(
    (early.get("svc_generations state=queued") ?? 0) + (early.get("svc_generations state=in_progress") ?? 0),
    2,
  );
  assert.equal(early.get("svc_jobs_lag_seconds"), 0);
  await here.service.clock.advance("10m");
  const late = await scrape(here);
  assert.equal(late.get("svc_generations_total state=completed"), 2);
  assert.equal(late.get("svc_generations state=queued"), 0);
});

test("open streams are counted until they are closed", async (t) => {
  const here = await listeningWorld(t);
  const deployment = await here.deploy((await here.project()).id);
  const open = async (kind: string) => (await scrape(here)).get(`svc_streams_open kind=${kind}`);
  const accepted = new Promise<Socket>((resolve) => {
    const note = (message: unknown) => resolve((message as { socket: Socket }).socket);
    subscribe("net.server.socket", note);
    t.after(() => unsubscribe("net.server.socket", note));
  });
  const { socket, begun, closed } = openStream(t, here);
  await begun;
  const response = await here.service.fetch(`/v1/deployments/${deployment.id}/logs?follow=true`, { headers: owner });
  assert.deepEqual([await open("websocket"), await open("sse")], [1, 1]);
  await response.body?.cancel();
  const left = once(await accepted, "close");
  socket.close();
  await closed;
  assert.equal(await open("sse"), 0);
  await left;
  assert.equal(await open("websocket"), 0);
  assert.equal((await scrape(here)).get("svc_http_requests_total operation=upgrade status=101"), 1);
});

test("the process is described: version, memory, processor, database, event loop", async (t) => {
  const here = await world(t);
  const first = await scrape(here);
  const info = [...first.keys()].find((key) => key.startsWith("svc_info"));
  assert.match(info ?? "", /version=\d+\.\d+\.\d+ node=v\d+.* mode=dev/);
  for (const name of ["process_resident_memory_bytes", "process_cpu_seconds_total", "process_uptime_seconds"])
    assert.ok((first.get(name) ?? 0) > 0, name);
  assert.ok((first.get("svc_database_bytes") ?? 0) > 4096);
  const delayed = (of: Map<string, number>) => of.get("svc_event_loop_delay_seconds quantile=0.99");
  assert.equal(delayed(first), undefined, "it is watched from the first scrape on");
  // The event loop is sampled every 20 ms, and measured from the second sample on. Here it is blocked between samples.
  for (let i = 0; i < 4; i++) {
    spawnSync(process.execPath, ["--eval", "0"]);
    await new Promise((go) => setImmediate(go));
  }
  assert.ok((delayed(await scrape(here)) ?? -1) >= 0);
});

test("the reference names every metric, and no other", async (t) => {
  const here = await world(t);
  const served = [...(await (await here.service.fetch("/metrics")).text()).matchAll(/^# TYPE (\w+)/gm)].map(
    ([, name]) => name,
  );
  const page = readFileSync("schema/http.md", "utf8");
  const chapter = page.split("\n| metric | meaning |\n")[1]?.split("\n\n")[0] ?? "";
  const named = [...chapter.matchAll(/`((?:svc|process)_\w+)/g)].map(([, name = ""]) => name);
  for (const name of served) assert.ok(named.includes(name ?? ""), `${name} is missing`);
  // Metrics without a count are not served, so the source shows whether they exist.
  const source = readFileSync("lib/composition/health/metrics.ts", "utf8");
  for (const name of named) assert.ok(source.includes(`"${name}"`), `${name} is none`);
});
