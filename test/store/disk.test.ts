import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, renameSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService, type Service } from "../../lib/index.ts";
import { bearer, jsonBearer } from "../helpers/headers.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { cannotMount, smallDisk } from "../helpers/small-disk.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { keyOf, seed } from "../helpers/test-service.ts";

const reserve_bytes = 8 * 1024 * 1024;
const metrics = { key: "metrics_demo_collector" };

/** A hosted service, its log, and a function that waits for a log line. */
async function hosted(t: TestContext, database: string) {
  const lines: string[] = [];
  const waiting: (() => void)[] = [];
  const note = (message: string, fields = {}) => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
    for (const look of waiting) look();
  };
  const logger = { error: note, warn: note, info: () => {}, debug: () => {} };
  const service = await createService({ mode: "start", database, seed, logger, rateLimit: 100_000, metrics });
  t.after(() => service.close());
  // An open port keeps the process alive while a test awaits a line.
  await service.listen();
  const line = (words: RegExp) =>
    new Promise<void>((resolve) => {
      const look = () => lines.some((one) => words.test(one)) && resolve();
      waiting.push(look);
      look();
    });
  return { service, lines, line, ...callsOf(service) };
}

function callsOf(service: Service<string | null>) {
  const call = async (method: string, path: string, body?: object, key = keyOf("owner")) => {
    const headers = body ? jsonBearer(key) : bearer(key);
    const answer = await service.fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return { status: answer.status, text, headers: answer.headers };
  };
  return {
    call,
    create: (name: string) => call("POST", "/v1/projects", { name, region: "eu" }),
    async writable() {
      const { text } = await call("GET", "/metrics", undefined, metrics.key);
      return /^svc_store_writable (\d)$/m.exec(text)?.[1];
    },
  };
}

const full = /the store cannot be written: the disk is full; free space/;

test("On a full disk reads and deletes go on, and writes do once there is room, without a restart", async (t) => {
  const disk = smallDisk(t);
  if (!disk) return t.skip(cannotMount);
  const here = await hosted(t, disk.database);
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(JSON.parse((await here.create(`before-${i}`)).text).id);
  assert.equal(statSync(`${disk.database}.reserve`).size, reserve_bytes);
  assert.equal(await here.writable(), "1");
  disk.fill();

  // The first request that meets the full disk is a delete, and it succeeds.
  assert.equal((await here.call("DELETE", `/v1/projects/${ids[0]}`)).status, 204);
  const refused = await Promise.all(["a", "b", "c"].map((name) => here.create(`during-${name}`)));
  for (const { status, text, headers } of refused) {
    assert.deepEqual([status, headers.get("retry-after")], [503, "5"]);
    assert.equal(JSON.parse(text).error.code, "unavailable");
    assert.match(text, /the store cannot be written: the disk is full; ask the operator to free space/);
  }
  for (const id of ids.slice(1, 4)) assert.equal((await here.call("DELETE", `/v1/projects/${id}`)).status, 204);
  const { data } = JSON.parse((await here.call("GET", "/v1/projects")).text);
  assert.deepEqual(
    data.map(({ name }: { name: string }) => name),
    ["before-4"],
  );
  const ready = await here.call("GET", "/readyz");
  assert.deepEqual([ready.status, ready.text], [200, '{"status":"degraded","reason":"the disk is full"}']);
  assert.equal((await here.call("GET", "/healthz")).text, '{"status":"ok"}');
  assert.equal(await here.writable(), "0");

  disk.clear();
  await here.line(/the store can be written again/);
  assert.equal((await here.create("after")).status, 201);
  assert.equal((await here.call("GET", "/readyz")).text, '{"status":"ok"}');
  assert.equal(await here.writable(), "1");
  assert.equal(statSync(`${disk.database}.reserve`).size, reserve_bytes);
  const others = here.lines.filter((line) => !full.test(line));
  assert.deepEqual([here.lines.length, others], [2, ["the store can be written again {}"]], "one line a state");
});

test("A start on a full disk serves reads and deletes, even after another program took what the first gave back", async (t) => {
  const disk = smallDisk(t);
  if (!disk) return t.skip(cannotMount);
  const first = await hosted(t, disk.database);
  for (const name of ["one", "two"]) await first.create(`project-${name}`);
  disk.fill();
  assert.equal((await first.create("too-late")).status, 503);
  disk.fill();
  await first.service.close();
  disk.fill();

  const second = await hosted(t, disk.database);
  const { data } = JSON.parse((await second.call("GET", "/v1/projects")).text);
  assert.equal(data.length, 2);
  assert.equal((await second.create("refused")).status, 503);
  assert.match((await second.call("GET", "/readyz")).text, /"degraded"/);
  assert.equal((await second.call("DELETE", `/v1/projects/${data[0].id}`)).status, 204);
  assert.match(second.lines.join("\n"), full);
  disk.clear();
  await second.line(/the store can be written again/);
  assert.equal((await second.create("accepted")).status, 201);
});

test("A database that is moved away under its server takes no writes, and takes them again when it is back", async (t) => {
  const database = join(folderOf(t), "svc.db");
  mockTime(t, { apis: ["setTimeout"] });
  const here = await hosted(t, database);
  assert.equal((await here.create("before")).status, 201);
  renameSync(database, `${database}.away`);
  // The next look of the watcher.
  t.mock.timers.tick(250);
  const refused = await here.create("lost");
  assert.equal(refused.status, 503);
  assert.match(refused.text, /the database was removed or replaced; ask the operator to put the file back/);
  assert.equal((await here.call("GET", "/v1/projects")).status, 200);
  assert.match((await here.call("GET", "/readyz")).text, /"degraded","reason":"the database was removed or replaced"/);
  t.mock.timers.tick(1_000);
  assert.equal((await here.create("still")).status, 503);
  renameSync(`${database}.away`, database);
  t.mock.timers.tick(1_000);
  await here.line(/the store can be written again/);
  assert.equal((await here.create("after")).status, 201);
});

test("A reserve that had no room at the start grows once there is some", async (t) => {
  const disk = smallDisk(t);
  if (!disk) return t.skip(cannotMount);
  mockTime(t, { apis: ["setTimeout"] });
  disk.fill(16);
  const here = await hosted(t, disk.database);
  const reserve = () => statSync(`${disk.database}.reserve`, { throwIfNoEntry: false })?.size ?? 0;
  assert.match(here.lines.join("\n"), /the disk is nearly full/);
  const { id } = JSON.parse((await here.create("one")).text);
  t.mock.timers.tick(60_000);
  assert.equal(reserve(), 0);
  disk.clear();
  t.mock.timers.tick(60_000);
  assert.equal(reserve(), reserve_bytes);
  disk.fill();
  assert.equal((await here.call("DELETE", `/v1/projects/${id}`)).status, 204);
});

test("The emulator keeps no reserve, and says that the disk is full", async (t) => {
  const disk = smallDisk(t);
  if (!disk) return t.skip(cannotMount);
  const service = await createService({ database: disk.database, seed, logLevel: "silent" });
  t.after(() => service.close());
  assert.equal(existsSync(`${disk.database}.reserve`), false);
  disk.fill();
  const { create, call } = callsOf(service);
  const { status, text } = await create("refused");
  assert.equal(status, 503);
  assert.match(text, /the disk is full/);
  assert.equal((await call("GET", "/v1/projects")).status, 200);
});

/** The first refused answer: calls begin to fail a moment after strace has attached. */
async function firstRefusal({ create }: Pick<Awaited<ReturnType<typeof hosted>>, "create">) {
  for (let i = 0; i < 1000; i++) {
    const answer = await create(`during-${i}`);
    if (answer.status !== 201) return { ...answer, name: `during-${i}` };
  }
  throw new Error("no write failed");
}

/**
 * Makes system calls of this process fail until the returned function is called; undefined where strace cannot be used.
 */
async function failing(injection: string) {
  const strace = spawn("strace", ["-f", "-o", "/dev/null", "-p", String(process.pid), "-e", `inject=${injection}`]);
  const exited = new Promise<void>((resolve) => strace.on("error", () => resolve()).on("close", () => resolve()));
  let isAttached = false;
  // Keeps reading afterwards: without a reader, the next line would end strace.
  const attached = new Promise<void>((resolve) => {
    strace.stderr.on("data", (chunk) => {
      isAttached ||= String(chunk).includes("attached");
      if (isAttached) resolve();
    });
  });
  await Promise.race([attached, exited]);
  if (!isAttached) return undefined;
  return async () => {
    strace.kill("SIGINT");
    await exited;
  };
}

for (const [reason, injection] of [
  ["the disk fails with I/O errors", "pwrite64,fsync,fdatasync:error=EIO"],
  ["the file or its folder is read-only", "pwrite64,access,faccessat,faccessat2:error=EROFS"],
  ["too many files are open", "pwrite64,openat:error=EMFILE"],
] as const) {
  test(`Reads go on while ${reason}, and writes do once that is over`, async (t) => {
    const here = await hosted(t, join(folderOf(t), "svc.db"));
    assert.equal((await here.create("before")).status, 201);
    const restore = await failing(injection);
    if (!restore) return t.skip("strace is not installed or may not attach");
    t.after(restore);
    const during = await firstRefusal(here);
    assert.equal(during.status, 503);
    assert.match(during.text, new RegExp(`the store cannot be written: ${reason}; ask the operator to `));
    assert.equal((await here.call("DELETE", "/v1/projects/proj_x")).status, 503);
    assert.equal((await here.call("GET", "/v1/projects")).status, 200);
    assert.equal((await here.call("GET", "/readyz")).text, JSON.stringify({ status: "degraded", reason }));
    await restore();
    await here.line(/the store can be written again/);
    assert.equal((await here.create("after")).status, 201);
    const { data } = JSON.parse((await here.call("GET", "/v1/projects?per_page=100")).text);
    const names = data.map(({ name }: { name: string }) => name);
    assert.deepEqual([names[0], names.at(-1), names.includes(during.name)], ["after", "before", false]);
    assert.equal(here.lines.length, 2, here.lines.join("\n"));
  });
}

test("A database that an I/O error left damaged is read only from then on, and takes no writes", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const here = await hosted(t, database);
  await here.create("before");
  const other = new Database(database);
  other.pragma("wal_checkpoint(TRUNCATE)");
  const page = other.prepare("select rootpage from sqlite_schema where name = 'mails'").pluck().get() as number;
  other.close();
  const restore = await failing("pwrite64,fsync,fdatasync:error=EIO");
  if (!restore) return t.skip("strace is not installed or may not attach");
  t.after(restore);
  assert.equal((await firstRefusal(here)).status, 503);
  await restore();
  const file = openSync(database, "r+");
  writeSync(file, Buffer.alloc(4096, "x"), 0, 4096, (page - 1) * 4096);
  closeSync(file);
  await here.line(/the store cannot be written: the database is damaged; restore it from a backup/);
  assert.match((await here.create("after")).text, /the database is damaged/);
  assert.equal((await here.call("GET", "/v1/projects")).status, 200);
});
