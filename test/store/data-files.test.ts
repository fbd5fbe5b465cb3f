import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { copyData } from "../../lib/store/data-files.ts";
import { backup, restore } from "../../lib/store/transfer/backup.ts";
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

test("names that are not UTF-8 are copied as they are, and a database of such a name is reported", async (t) => {
  const [from, to] = ["from", "to"].map((name) => join(temporaryFolder(t), name)) as [string, string];
  mkdirSync(from);
  const at = (folder: string, name: string) => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, "latin1")]);
  mkdirSync(at(from, "\xe9"));
  for (const name of ["\xff\xfe1", "\xe9/caf\xe9", "\xe9/f\xc3\xa9"]) writeFileSync(at(from, name), name, "latin1");
  symlinkSync(Buffer.from("\xe9/caf\xe9", "latin1"), at(from, "\xe9/link"));
  // With holes, as a file that another program copies.
  writeFileSync(at(from, "sparse\xe9"), "x");
  truncateSync(at(from, "sparse\xe9"), 10_000_000);
  const database = new Database(join(from, "shop.db"));
  database.exec("create table orders (id text)");
  database.close();
  writeFileSync(at(from, "shop\xe9.db"), readFileSync(join(from, "shop.db")));
  const [warning = "", ...more] = await copyData(from, to);
  assert.match(warning, /^from\/shop\ufffd\.db of the apps' data could not be copied: its name is not UTF-8/);
  assert.deepEqual(more, []);
  assert.deepEqual(readdirSync(to, "latin1").sort(), ["shop.db", "sparse\xe9", "\xe9", "\xff\xfe1"]);
  assert.deepEqual(readdirSync(at(to, "\xe9"), "latin1").sort(), ["caf\xe9", "f\xc3\xa9", "link"]);
  assert.equal(readlinkSync(at(to, "\xe9/link"), "latin1"), "\xe9/caf\xe9");
  assert.equal(readFileSync(at(to, "\xe9/caf\xe9"), "latin1"), "\xe9/caf\xe9");
  const { size, blocks } = statSync(at(to, "sparse\xe9"));
  assert.ok(size === 10_000_000 && blocks < 1_000, `${blocks}`);
});

test("a backup and a restore keep names that are not UTF-8, and can be repeated", async (t) => {
  const folder = temporaryFolder(t);
  const [source, copy, restored] = ["svc.db", "copy.db", "restored.db"].map((name) => join(folder, name));
  assert.ok(source && copy && restored);
  const service = await createService({ database: source });
  await service.close();
  const at = (path: string, name: string) => Buffer.concat([Buffer.from(`${path}-data/`), Buffer.from(name, "latin1")]);
  mkdirSync(at(source, "\xe9"), { recursive: true });
  for (const name of ["caf\xe9", "\xe9/caf\xe9"]) writeFileSync(at(source, name), name, "latin1");
  chmodSync(at(source, "caf\xe9"), 0o444);
  for (const force of [false, true]) {
    assert.deepEqual((await backup(source, copy, { force })).unread, []);
    assert.deepEqual((await restore(copy, restored, { force })).unread, []);
    for (const name of ["caf\xe9", "\xe9/caf\xe9"]) assert.equal(readFileSync(at(restored, name), "latin1"), name);
    // Deeper than the longest path: the next restore moves them aside, and removes them.
    const deepen =
      "for (let i = 0; i < 300; i++) { fs.mkdirSync('deep-folder-of-an-app'); process.chdir('deep-folder-of-an-app'); }";
    execFileSync(process.execPath, ["-e", deepen], { cwd: `${restored}-data` });
  }
  assert.deepEqual(await restore(copy, restored, { force: true }).then(({ unread }) => unread), []);
  assert.deepEqual(
    readdirSync(folder).filter((name) => /staged|switching/.test(name)),
    [],
  );
  await (await createService({ database: restored })).close();
});
