import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import Database from "better-sqlite3";
import { createService, type Options } from "../../lib/index.ts";
import { Problem } from "../../lib/kernel/errors.ts";
import { asDatabaseError, describeError as reason } from "../../lib/store/database-error.ts";
import { openFile } from "../../lib/store/sqlite/database-files.ts";
import { kill, openOnce, runOnFullDisk, startHolder } from "../helpers/child-processes.ts";
import { createdDatabase, failsToOpen, isDatabaseError, owner, quiet } from "../helpers/database-rows.ts";
import { folderOf } from "../helpers/temporary-store.ts";

const change = (path: string, sql: string) => {
  const database = new Database(path);
  database.exec(sql);
  database.close();
};

describe("the settings of a database file", () => {
  test("every commit is synced and the journal mode is WAL, in a reopened file too", async (t) => {
    const path = join(folderOf(t), "svc.db");
    for (const opening of ["the first", "the second", "the third"]) {
      const { database, engine, release } = openFile(path, { mayCreate: () => {}, exclusive: true });
      const read = (name: string) => database.pragma(name, { simple: true });
      assert.equal(read("synchronous"), 2, opening);
      assert.equal(read("journal_mode"), "wal");
      assert.equal(read("foreign_keys"), 1);
      assert.equal(read("trusted_schema"), 0);
      assert.equal(read("journal_size_limit"), 64 * 1024 * 1024);
      assert.ok((read("busy_timeout") as number) <= 250);
      await engine.transaction("all", (c) => c.statement("delete from settings where name = 'x'").run([]));
      await engine.close();
      release();
    }
  });

  test("the key file is readable by its owner alone, and stays the same", async (t) => {
    const path = await createdDatabase(t);
    const key = readFileSync(`${path}.key`, "utf8");
    assert.equal(statSync(`${path}.key`).mode & 0o777, 0o600);
    assert.equal(Buffer.from(key, "base64").length, 32);
    await (await createService({ ...quiet, database: path })).close();
    assert.equal(readFileSync(`${path}.key`, "utf8"), key);
  });

  test("a first start that was killed before its first commit does not prevent the next one", async (t) => {
    const path = join(folderOf(t), "svc.db");
    change(path, "pragma journal_mode = wal");
    assert.equal(statSync(path).size, 4096);
    await (await createService({ ...quiet, database: path })).close();
  });

  test("a first start that was killed while it wrote the key file does not prevent the next one", async (t) => {
    const path = join(folderOf(t), "svc.db");
    await runOnFullDisk(path, "key");
    await (await createService({ ...quiet, database: path })).close();
  });
});

describe("an unusable file is refused, and left unchanged", () => {
  test("a file that is not SQLite", async (t) => {
    const path = join(folderOf(t), "svc.db");
    for (const text of ["x", "{}\n".repeat(4_000), `SQLite format 2\0${"x".repeat(8_192)}`]) {
      writeFileSync(path, text);
      await failsToOpen(path, /it is not an SQLite database/);
      assert.equal(readFileSync(path, "latin1"), text);
      assert.deepEqual(readdirSync(dirname(path)), ["svc.db"], "it gets no lock beside it");
    }
  });

  test("a truncated file, wherever it was cut", async (t) => {
    const whole = readFileSync(await createdDatabase(t));
    const path = join(folderOf(t), "svc.db");
    for (const size of [
      16,
      50,
      99,
      100,
      101,
      4_096,
      4_097,
      whole.length >> 1,
      whole.length - 4_096,
      whole.length - 1,
    ]) {
      writeFileSync(path, whole);
      truncateSync(path, size);
      await failsToOpen(path, /it is truncated|it is damaged/);
      assert.equal(statSync(path).size, size);
    }
  });

  test("a truncated file with a WAL, as after a crash", async (t) => {
    const projects = Array.from({ length: 300 }, (_, i) => ({
      name: `web-${i}`,
      region: "eu",
      description: "x".repeat(99),
    }));
    const path = await createdDatabase(t, { seed: { organizations: [{ name: "acme", users: [owner], projects }] } });
    const service = await createService({ ...quiet, database: path });
    t.after(() => service.close());
    await service.keys.create({});
    const crashed = join(folderOf(t), "svc.db");
    for (const end of ["", "-wal", ".key"]) writeFileSync(crashed + end, readFileSync(path + end));
    assert.ok(statSync(`${crashed}-wal`).size > 0);
    truncateSync(crashed, statSync(path).size >> 1);
    await failsToOpen(crashed, /it is truncated|it is damaged/);
  });

  test("the database of another program, which keeps its journal mode", async (t) => {
    const path = join(folderOf(t), "svc.db");
    change(path, "create table notes (text); pragma application_id = 42");
    const before = readFileSync(path);
    await failsToOpen(path, /it belongs to another program/);
    assert.deepEqual(readFileSync(path), before);
  });

  test("one of a newer version, and one with other migrations", async (t) => {
    const newer = await createdDatabase(t);
    change(newer, "pragma user_version = 999");
    await failsToOpen(newer, /a newer svc-server \(schema 999, this one knows \d+\); use that version/);
    const other = await createdDatabase(t);
    change(other, "update migrations set checksum = 'x' where version = 1");
    await failsToOpen(other, /its migration 0001_service\.sql differs/);
  });

  test("a folder", async (t) => {
    const path = join(folderOf(t), "svc-data");
    mkdirSync(path);
    await failsToOpen(path, /it is a folder; name a file in it/);
    assert.deepEqual(readdirSync(path), []);
  });

  test("one with a wrong or lost key file, which is not created again", async (t) => {
    const path = await createdDatabase(t);
    const key = readFileSync(`${path}.key`);
    writeFileSync(`${path}.key`, `${Buffer.alloc(32, 7).toString("base64")}\n`);
    await failsToOpen(path, /encrypted with another key; restore the key file/);
    change(path, "select 1");
    const alone = join(folderOf(t), "svc.db");
    writeFileSync(alone, readFileSync(path));
    await failsToOpen(alone, /its key file .*svc\.db\.key is missing; restore it from the backup/);
    assert.throws(() => statSync(`${alone}.key`), { code: "ENOENT" });
    writeFileSync(`${path}.key`, key);
    await (await createService({ ...quiet, database: path })).close();
  });

  test("a missing or empty one with a key file: a lost mount is not a first start", async (t) => {
    const start: Options = { mode: "start", clock: "real" };
    const path = await createdDatabase(t, start);
    const key = readFileSync(`${path}.key`, "utf8");
    truncateSync(path, 0);
    await failsToOpen(path, /the database is empty; .*mounted.*--create/, start);
    const missing = join(folderOf(t), "svc.db");
    writeFileSync(`${missing}.key`, key);
    await failsToOpen(missing, /the database is missing; .*mounted.*--create/, start);
    assert.deepEqual(readdirSync(join(missing, "..")), ["svc.db.key"]);
    for (const again of [path, missing])
      await (await createService({ ...quiet, ...start, database: again, create: true })).close();
    assert.equal(readFileSync(`${path}.key`, "utf8"), key);
    await (await createService({ ...quiet, ...start, database: missing })).close();
  });
});

test("a full or failing disk is named, for every code that SQLite reports", () => {
  const failure = (code: string) => Object.assign(new Error("disk I/O error"), { code });
  for (const code of ["SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_WRITE", "SQLITE_FULL", "ENOSPC"]) {
    assert.match(reason(failure(code)), /^the disk is full/);
    const refused = new Problem("unavailable", "try again in a few seconds", { cause: failure(code) });
    isDatabaseError((asDatabaseError("svc.db", refused) as Error).message, /the disk is full/);
  }
  const other = new Problem("unavailable", "try again in a few seconds");
  assert.equal(asDatabaseError("svc.db", other), other);
});

describe("two servers on one file", () => {
  test("a second one in the same process is refused at once and names the first, which continues", async (t) => {
    const path = await createdDatabase(t);
    const first = await createService({ ...quiet, database: path });
    t.after(() => first.close());
    await failsToOpen(path, new RegExp(`another svc-server \\(pid ${process.pid}\\) is running on it`));
    assert.ok((await first.keys.create({})).key);
    await first.close();
    await (await createService({ ...quiet, database: path })).close();
  });

  test("the second of two processes is refused either way, and a killed holder leaves no lock", async (t) => {
    const path = await createdDatabase(t);
    const holder = await startHolder(path);
    t.after(() => holder.process.kill("SIGKILL"));
    await failsToOpen(path, new RegExp(`another svc-server \\(pid ${holder.pid}\\) is running on it; stop that one`));
    await kill(holder);
    const next = await createService({ ...quiet, database: path });
    t.after(() => next.close());
    isDatabaseError(await openOnce(path), new RegExp(`another svc-server \\(pid ${process.pid}\\)`));
  });
});
