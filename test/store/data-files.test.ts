import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { copyData } from "../../lib/store/data-files.ts";
import { temporaryFolder } from "../helpers/program.ts";

test("a copy of the apps' data leaves out what belongs to a database, and nothing else of such a name", async (t) => {
  const [from, to] = ["from", "to"].map((name) => join(temporaryFolder(t), name)) as [string, string];
  for (const folder of ["app", "app-journal"]) mkdirSync(join(from, folder), { recursive: true });
  for (const name of ["app-journal/entry", "trades", "trades-journal", "notes-wal"])
    writeFileSync(join(from, name), name);
  const database = new Database(join(from, "shop.db"));
  t.after(() => database.close());
  database.pragma("journal_mode = wal");
  database.exec("create table orders (id text)");
  assert.deepEqual(await copyData(from, to), []);
  assert.deepEqual(readdirSync(to, { recursive: true }).sort(), [
    "app",
    "app-journal",
    "app-journal/entry",
    "notes-wal",
    "shop.db",
    "trades",
    "trades-journal",
  ]);
});
