import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { migrations, namesAfter } from "../../lib/store/migrate.ts";
import { openMemory } from "../../lib/store/sqlite/database-files.ts";
import { backup, restore } from "../../lib/store/transfer/backup.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { createdDatabase, failsToOpen, isDatabaseError, quiet } from "../helpers/database-rows.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { keyOf, seed } from "../helpers/test-service.ts";

const change = (path: string, sql: string) => {
  const database = new Database(path);
  database.pragma("foreign_keys = off");
  database.exec(sql);
  database.close();
};

/** Zeroes a page; page numbers start at 1. */
function zero(path: string, page: number): void {
  const fd = openSync(path, "r+");
  writeSync(fd, Buffer.alloc(4096), 0, 4096, (page - 1) * 4096);
  closeSync(fd);
}

const rootOf = (path: string, table: string): number => {
  const database = new Database(path, { readonly: true });
  const page = database.prepare("select rootpage from sqlite_schema where name = ?").pluck().get(table);
  database.close();
  return page as number;
};

describe("a damaged database is named, with what mends it", () => {
  test("a start refuses one without a table or an index", async (t) => {
    const path = await createdDatabase(t);
    const copy = join(folderOf(t), "svc.db");
    for (const [sql, name] of [
      ["drop table mails", "mails"],
      ["drop table migrations", "migrations"],
      ["drop index deployments_running", "deployments_running"],
    ] as const) {
      for (const end of ["", ".key"]) copyFileSync(path + end, copy + end);
      change(copy, sql);
      await failsToOpen(
        copy,
        new RegExp(`it is damaged: its table or index ${name} is missing; restore it from a backup`),
      );
    }
    const database = new Database(copy);
    const tables = database.prepare("select name from sqlite_schema where type = 'table'").pluck().all();
    database.close();
    change(copy, tables.map((name) => `drop table "${name}";`).join(""));
    await failsToOpen(copy, /it is damaged: all its tables are missing; restore it from a backup/);
  });

  test("the names that migrations make are those of a migrated database", () => {
    const { database } = openMemory();
    const real = database.prepare("select name from sqlite_schema where name not like 'sqlite_%'").pluck().all();
    database.close();
    assert.deepEqual([...namesAfter(migrations()), "migrations"].sort(), real.sort());
  });

  test("a start on a database with a zeroed page works, or is refused with a sentence", async (t) => {
    const path = await createdDatabase(t, { seed });
    const copy = join(folderOf(t), "svc.db");
    copyFileSync(`${path}.key`, `${copy}.key`);
    let refused = 0;
    for (let page = 1; page <= statSync(path).size / 4096; page += page < 8 ? 1 : 9) {
      copyFileSync(path, copy);
      zero(copy, page);
      try {
        await (await createService({ ...quiet, database: copy })).close();
      } catch (error) {
        refused += 1;
        isDatabaseError(
          (error as Error).message,
          /it is damaged; restore it from a backup|it is not an SQLite database/,
        );
      }
      for (const end of ["-wal", "-shm"]) rmSync(copy + end, { force: true });
    }
    assert.ok(refused > 1, `${refused} were refused`);
  });

  test("a start refuses a key file that is a folder, or holds no key", async (t) => {
    const path = await createdDatabase(t);
    rmSync(`${path}.key`);
    writeFileSync(`${path}.key`, "");
    await failsToOpen(
      path,
      /its key file \S+svc\.db\.key: it does not hold 32 bytes in base64; restore it from a backup/,
    );
    rmSync(`${path}.key`);
    mkdirSync(`${path}.key`);
    await failsToOpen(path, /its key file \S+svc\.db\.key: it is a folder; restore it from a backup/);
  });

  test("a request is answered that the database is damaged, and doctor says so in one line", async (t) => {
    const path = await createdDatabase(t, { seed });
    const headers = { authorization: `Bearer ${keyOf("owner")}`, "content-type": "application/json" };
    const call = async (method: string, body: string | null) => {
      const service = await createService({ ...quiet, database: path });
      t.after(() => service.close());
      const answer = await service.fetch("/v1/projects", { method, headers, body });
      await service.close();
      return answer;
    };
    assert.equal((await call("POST", '{"name":"web","region":"eu"}')).status, 201);
    zero(path, rootOf(path, "projects"));
    const answer = await call("GET", null);
    assert.equal(answer.status, 503);
    assert.match(await answer.text(), /the database is damaged; its operator has to restore it from a backup/);
    const { stdout } = await runHere(["doctor", "--database", path, "--port", "0"]);
    assert.match(stdout, /WRONG +database .*it is damaged \(.+\); restore it from a backup\n/);
  });
});

/** A database and a backup of it. */
async function backedUp(t: TestContext) {
  const [database, folder] = [await createdDatabase(t, { seed }), folderOf(t)];
  const copy = join(folder, "copy.db");
  await backup(database, copy, { force: false });
  return { database, folder, copy };
}

/** Asserts that a copy is refused with one sentence that names the operator's file. */
async function refused(copying: Promise<unknown>, words: RegExp): Promise<void> {
  await assert.rejects(copying, ({ message }: Error) => {
    assert.match(message, words);
    assert.match(message, /^the database \S+ cannot be used: [^\n]+$/);
    assert.doesNotMatch(message, /EISDIR|no such table|\.staged/);
    return true;
  });
}
const force = { force: true };

describe("a restore says what is wrong with a backup", () => {
  test("a folder in the place of a file", async (t) => {
    const { database, folder, copy } = await backedUp(t);
    const words = /it is a folder; name a file in it, such as/;
    await refused(restore(folder, database, force), words);
    await refused(restore(copy, folder, force), words);
    await refused(backup(database, folder, force), words);
    await refused(backup(folder, join(folder, "b.db"), force), words);
    rmSync(`${copy}.key`);
    mkdirSync(`${copy}.key`);
    await refused(restore(copy, database, force), words);
    const { status, stderr } = await runHere(["restore", folder, "--database", database, "--force"]);
    assert.deepEqual([status, words.test(stderr)], [1, true]);
  });

  test("a file without its tables, or without one of them", async (t) => {
    const { database, folder, copy } = await backedUp(t);
    const empty = join(folder, "empty.db");
    copyFileSync(`${copy}.key`, `${empty}.key`);
    change(empty, "pragma user_version = 1");
    await refused(restore(empty, database, force), /empty\.db .*: it has no tables; name a database of svc-server/);
    change(empty, "create table x (y); drop table x");
    await refused(restore(empty, database, force), /empty\.db .*: it belongs to another program; name a file/);
    const before = readFileSync(database);
    for (const name of ["settings", "generations"]) {
      change(copy, `drop table ${name}`);
      await refused(restore(copy, database, force), /copy\.db .*its table or index \w+ is missing; use another backup/);
    }
    assert.deepEqual(readFileSync(database), before);
  });

  test("and leaves nothing where no database was", async (t) => {
    const { folder, copy } = await backedUp(t);
    change(copy, "update users set name = 'Eve'");
    const before = readdirSync(folder);
    const fresh = join(folder, "fresh.db");
    await refused(restore(copy, fresh, { force: false }), /copy\.db does not match its checksum/);
    assert.deepEqual(readdirSync(folder), before);
  });

  test("a file that differs from its checksum, which nothing else would notice", async (t) => {
    const { database, folder, copy } = await backedUp(t);
    const sums = `${copy}.sha256`;
    if (spawnSync("sha256sum", ["--version"]).status === 0) {
      const checked = spawnSync("sha256sum", ["-c", "copy.db.sha256"], { cwd: folder, encoding: "utf8" });
      assert.equal(checked.stdout, "copy.db: OK\ncopy.db.key: OK\n");
    }
    change(copy, "update users set name = 'Eve'");
    const words = /copy\.db does not match its checksum in copy\.db\.sha256, so it was changed after the backup; use/;
    await refused(restore(copy, database, force), words);
    assert.match(
      (await runHere(["doctor", "--database", copy, "--port", "0"])).stdout,
      /WRONG +checksums .*does not match/,
    );
    writeFileSync(sums, "nothing\n");
    await refused(
      restore(copy, database, force),
      /line 1 of copy\.db\.sha256 is not a checksum; use another backup, or/,
    );
    rmSync(sums);
    const unchecked = await runHere(["restore", copy, "--database", database, "--force"]);
    assert.equal(unchecked.status, 0, unchecked.stderr);
    assert.match(unchecked.stdout, /Warning: .*copy\.db has no checksums \(copy\.db\.sha256\), so only its structure/);
  });

  test("a backup that was renamed with its checksums can be restored", async (t) => {
    const { database, folder, copy } = await backedUp(t);
    const renamed = join(folder, "monday.db");
    for (const end of ["", ".key", ".sha256"]) renameSync(copy + end, renamed + end);
    assert.deepEqual((await restore(renamed, database, force)).warnings, []);
  });
});
