import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import type { GenerationDriver } from "../../lib/index.ts";
import { linesOf, startChild } from "../helpers/child-processes.ts";
import { createGeneration, sharedPainter, small } from "../helpers/painter.ts";
import { isLong } from "../helpers/properties.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const driver = sharedPainter();
const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.from("no more than this")]);

const get = async (here: World, id: string) => expect(await here.call("owner", "GET", `/v1/generations/${id}`), 200);
const fileOf = (t: TestContext) => join(folderOf(t), "svc.db");
const files = (file: string) => readdirSync(`${file}-files`);

/** A slow backend that counts its requests. */
function backend() {
  const asked = { submit: [] as string[], poll: [] as string[] };
  let answer: "running" | "done" = "running";
  const driver: GenerationDriver = {
    delay: () => 0,
    async submit({ generation_id }) {
      asked.submit.push(generation_id);
      return { state: "running", again_ms: 1000, handle: `job of ${generation_id}` };
    },
    async poll(_, handle) {
      asked.poll.push(handle);
      if (answer === "running") return { state: "running", again_ms: 1000, handle };
      return { state: "done", bytes: png, cost_usd: null };
    },
    async cancel() {},
  };
  const finish = () => {
    answer = "done";
  };
  return { asked, driver, finish };
}

test("A restart continues polling with the stored handle, and submits nothing twice", async (t) => {
  const database = fileOf(t);
  const { asked, driver, finish } = backend();
  const first = await world(t, { database, generations: { driver } });
  const { id } = await createGeneration(first);
  await first.service.clock.advance("10s");
  await first.service.close();
  const polls = asked.poll.length;
  finish();
  const second = await world(t, { database, generations: { driver } });
  await second.service.clock.advance("10s");
  const { status, output } = await get(second, id);
  assert.equal(status, "completed");
  assert.deepEqual(asked.submit, [id]);
  assert.deepEqual(asked.poll.slice(polls), [`job of ${id}`]);
  const file = await second.service.fetch(output.url);
  assert.deepEqual(Buffer.from(await file.arrayBuffer()), png);
});

test("Links and files survive a restart", async (t) => {
  const database = fileOf(t);
  const first = await world(t, { database, generations: { driver: driver() } });
  const { id } = await createGeneration(first);
  await first.service.clock.advance("3s");
  const { output } = await get(first, id);
  const before = Buffer.from(await (await first.service.fetch(output.url)).arrayBuffer());
  await first.service.close();
  assert.deepEqual(files(database), [id]);
  assert.equal(statSync(`${database}-files`).mode & 0o777, 0o700);
  assert.equal(statSync(join(`${database}-files`, id)).mode & 0o777, 0o600);
  const second = await world(t, { database, generations: { driver: driver() } });
  const again = await second.service.fetch(output.url);
  assert.equal(again.status, 200);
  assert.deepEqual(Buffer.from(await again.arrayBuffer()), before);
});

const never: GenerationDriver = {
  ...{ takesScenarios: true, delay: () => 0, cancel: async () => {} },
  submit: async () => ({ state: "running", again_ms: 1000, handle: null }),
  poll: async () => ({ state: "failed", message: "is never asked" }),
};

test("A file that was stored before the process died costs what its scenario says", async (t) => {
  const database = fileOf(t);
  const first = await world(t, { database, generations: { driver: never } });
  await first.service.scenarios.next("generation", { cost_usd: 7.5 });
  const { id } = await createGeneration(first);
  await first.service.settle();
  await first.service.close();
  mkdirSync(`${database}-files`, { recursive: true });
  writeFileSync(join(`${database}-files`, id), png);
  const second = await world(t, { database, generations: { driver: never } });
  await second.service.clock.advance("1s");
  const { status, usage } = await get(second, id);
  assert.deepEqual([status, usage.cost_usd], ["completed", 7.5]);
});

test("A file that was stored before the process died is used as it is, and not paid for again", async (t) => {
  const database = fileOf(t);
  const first = await world(t, { database, generations: { driver: never } });
  const { id } = await createGeneration(first);
  await first.service.settle();
  await first.service.close();
  mkdirSync(`${database}-files`, { recursive: true });
  writeFileSync(join(`${database}-files`, id), png);
  const { asked, driver } = backend();
  const second = await world(t, { database, generations: { driver } });
  await second.service.clock.advance("1s");
  const { status, usage } = await get(second, id);
  assert.deepEqual([status, usage.cost_usd, asked.submit], ["completed", 0.01, []]);
});

test("A file that was stored before the process died goes with its generation that is cancelled or fails", async (t) => {
  const database = fileOf(t);
  const first = await world(t, { database, generations: { driver: backend().driver } });
  const cancelled = await createGeneration(first);
  const failed = await createGeneration(first, { ...small, seed: 2 });
  await first.service.settle();
  await first.service.close();
  mkdirSync(`${database}-files`, { recursive: true });
  for (const { id } of [cancelled, failed]) writeFileSync(join(`${database}-files`, id), png);
  const second = await world(t, { database, generations: { driver: never } });
  assert.deepEqual(files(database).sort(), [cancelled.id, failed.id].sort());
  expect(await second.call("owner", "POST", `/v1/generations/${cancelled.id}/cancel`), 200);
  await second.service.settle();
  assert.deepEqual(files(database), [failed.id]);
  await second.service.clock.advance("2s");
  assert.equal((await get(second, failed.id)).status, "failed");
  assert.deepEqual(files(database), []);
});

test("A start removes files without a record, and leaves foreign files alone", async (t) => {
  const database = fileOf(t);
  const first = await world(t, { database, generations: { driver: driver() } });
  const { id } = await createGeneration(first);
  const cancelled = await createGeneration(first, { ...small, seed: 2 });
  expect(await first.call("owner", "POST", `/v1/generations/${cancelled.id}/cancel`), 200);
  await first.service.clock.advance("3s");
  await first.service.close();
  const unknown = "gen_01ARZ3NDEKTSV4RRFFQ69G5FAV";
  for (const name of [unknown, `${unknown}.half`, `${id}.half`, cancelled.id, "README.txt"])
    writeFileSync(join(`${database}-files`, name), "left behind");
  await world(t, { database, generations: { driver: driver() } });
  assert.deepEqual(files(database).sort(), ["README.txt", id].sort());
});

test("A close in the middle of painting is no failure: the next start continues it", async (t) => {
  const database = fileOf(t);
  const first = await world(t, { database });
  const { id } = await createGeneration(first, { ...small, resolution: "512x512" });
  await first.service.clock.advance("1s");
  const painted = Promise.all([first.service.clock.advance("2s")]);
  await first.service.close();
  await painted.catch(() => {});
  assert.deepEqual(readdirSync(join(database, "..")).includes("svc.db-files") ? files(database) : [], []);
  const second = await world(t, { database, generations: { driver: driver() } });
  const { status } = await get(second, id);
  assert.equal(status, "in_progress");
  await second.service.clock.advance("3s");
  assert.equal((await get(second, id)).status, "completed");
});

test("A server that is killed repeatedly leaves no orphaned file and no broken link, and finishes everything", async (t) => {
  const database = fileOf(t);
  const made = new Set<string>();
  const submitted: string[] = [];
  const rounds = isLong ? 5 : 3;
  for (let round = 0; round < rounds; round++) {
    const child = await startChild(database, "paint");
    const lines = await linesOf(child, (line, count) => line.startsWith("submitted") && count > 8 + 3 * round);
    for (const [what, id = ""] of lines.map((line) => line.split(" "))) {
      assert.notEqual(what, "refused", lines.join("\n"));
      if (what === "generation") made.add(id);
      if (what === "submitted") submitted.push(id);
    }
    const state = new Database(database, { readonly: true });
    const rows = state.prepare("select id, bytes from generations where content_type is not null").all() as {
      id: string;
      bytes: number;
    }[];
    state.close();
    for (const { id, bytes } of rows) assert.equal(readFileSync(join(`${database}-files`, id)).length, bytes, id);
  }

  const later = new Date(Date.now() + 60_000).toISOString();
  const here = await world(t, { database, clock: `manual@${later}`, generations: { driver: driver() } });
  await here.service.clock.advance("10m");
  assert.ok(made.size > rounds);
  for (const id of made) assert.equal((await get(here, id)).status, "completed", id);
  await here.service.close();
  const state = new Database(database, { readonly: true });
  const ids = state.prepare("select id from generations where status = 'completed'").pluck().all() as string[];
  state.close();
  assert.deepEqual(files(database).sort(), ids.sort());
  // Only requests in flight when a process died are submitted again: three at most, each time.
  const again = submitted.length - new Set(submitted).size;
  assert.ok(again <= 3 * rounds, `${again} were submitted twice`);
});

test("A generation that waits for the painter is not running, so a kill does not count as its crash", async (t) => {
  const database = fileOf(t);
  const here = await world(t, { database, clock: "real" });
  const many = 12;
  const made = [];
  for (let seed = 0; seed < many; seed++) {
    await here.service.scenarios.next("generation", { durations: { queued: "1ms", in_progress: "1ms" } });
    made.push(await createGeneration(here, { ...small, resolution: "512x512", seed }));
  }
  expect(await here.call("owner", "GET", `/v1/generations/${made[0]?.id}?wait=30`), 200);
  const state = new Database(database, { readonly: true });
  const jobs = "select count(*) from jobs where kind = 'generations.advance'";
  const count = (sql: string) => state.prepare(sql).pluck().get() as number;
  const [whole, part] = [jobs, `${jobs} and state = 'running'`];
  // A claim takes all due jobs. Each only asks for the painter, and then waits again.
  for (let left = 20; left > 0 && count(part) > 6; left--) await here.call("owner", "GET", "/v1/me");
  const [all, running] = [count(whole), count(part)];
  state.close();
  assert.ok(all >= many - 4, `${all} jobs`);
  // Four threads at most, and a few jobs that are asking.
  assert.ok(running <= 6, `${running} of ${all} run`);
});
