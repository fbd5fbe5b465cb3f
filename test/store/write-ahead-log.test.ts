import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { compiled } from "../helpers/bundle.ts";
import { bearer, jsonBearer } from "../helpers/headers.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { keyOf, seed } from "../helpers/test-service.ts";

const megabyte = 1024 * 1024;
const metricsKey = "metrics_demo_collector";

/** A service on a file, and its log with a way to wait for the next line. */
async function serviceOn(t: TestContext, database: string) {
  const lines: string[] = [];
  let noted = () => {};
  const note = (message: string) => {
    lines.push(message);
    noted();
  };
  const logger = { error: note, warn: note, info: () => {}, debug: () => {} };
  const service = await createService({ mode: "start", database, seed, logger, metrics: { key: metricsKey } });
  t.after(() => service.close());
  // An open port keeps the process alive while the test awaits a line.
  await service.listen();
  const key = keyOf("owner");
  return {
    lines,
    line: async () => {
      if (lines.length === 0) await new Promise<void>((resolve) => (noted = resolve));
      return lines.shift();
    },
    write: async (name: string) => {
      const body = JSON.stringify({ name, region: "eu" });
      const { status } = await service.fetch("/v1/projects", { method: "POST", headers: jsonBearer(key), body });
      assert.equal(status, 201);
    },
    metrics: async () => (await service.fetch("/metrics", { headers: bearer(metricsKey) })).text(),
  };
}

/** Grows the log as half a minute of a busy service would. */
function grow(database: string, bytes: number): void {
  const writer = new Database(database);
  writer.pragma("wal_autocheckpoint = 0");
  writer.prepare("insert into settings values ('big', zeroblob(?))").run(bytes);
  writer.prepare("delete from settings where name = 'big'").run();
  writer.close();
}

test("a log that grows behind another program's transaction is reported, and is small again when that ends", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const { lines, line, write, metrics } = await serviceOn(t, database);
  const size = () => statSync(`${database}-wal`).size;
  await write("before");
  const reader = spawn(process.execPath, [compiled("test/store/reader.child.js"), database]);
  t.after(() => reader.kill());
  await once(reader.stdout, "data");
  grow(database, 70 * megabyte);
  await write("behind the reader");
  assert.match((await line()) ?? "", /^the write-ahead log grows, because another program reads the database/);
  assert.ok(size() > 64 * megabyte);
  assert.match(await metrics(), new RegExp(`^svc_database_log_bytes ${size()}$`, "m"));
  await write("reported once");
  reader.stdin.end();
  assert.equal(await line(), "the write-ahead log is small again");
  assert.ok(size() < megabyte, `${size()} bytes`);
  for (let i = 0; i < 10; i++) await write(`after ${i}`);
  assert.deepEqual(lines, []);
  const outside = new Database(database, { readonly: true });
  assert.equal(outside.prepare("select count(*) from projects").pluck().get(), 13);
  assert.equal(outside.pragma("integrity_check", { simple: true }), "ok");
  outside.close();
});
