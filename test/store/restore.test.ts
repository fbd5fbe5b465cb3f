import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { beginService } from "../../lib/service.ts";
import { backup, restore } from "../../lib/store/transfer/backup.ts";
import { damagedAssets } from "../../lib/store/transfer/integrity-check.ts";
import { compiled } from "../helpers/bundle.ts";
import { quiet } from "../helpers/database-rows.ts";
import { finishedGeneration, sharedPainter } from "../helpers/painter.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { world } from "../helpers/test-service.ts";

type Command = "restore" | "backup" | "settle";
const childFile = compiled("test/store/restore.child.js");
const copyIn = (folder: string) => join(folder, "copy.db");
const databaseIn = (folder: string) => join(folder, "svc.db");

/** Runs a command on `copy.db` and `svc.db` of a folder, and kills it before the Nth call that changes a file. */
function run(command: Command, folder: string, killedAt = 0) {
  const [from, to] = command === "backup" ? [databaseIn, copyIn] : [copyIn, databaseIn];
  const words = [childFile, command, from(folder), to(folder), String(killedAt)];
  const { signal, status, stdout } = spawnSync(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  if (signal === null) assert.equal(status, 0);
  return { isKilled: signal === "SIGKILL", calls: Number(stdout) };
}

const draw = sharedPainter();

/**
 * A database as left by a killed server, with the file of a generation. Its last key, which names the set, is only in
 * the WAL.
 */
async function writeSet(t: TestContext, to: string, set: string): Promise<void> {
  const database = join(folderOf(t), "svc.db");
  const here = await world(t, { database, generations: { driver: draw() } });
  await finishedGeneration(here);
  await here.service.close();
  const service = await createService({ ...quiet, database });
  await service.keys.create({ name: set });
  for (const end of ["", "-wal", ".key"]) writeFileSync(to + end, readFileSync(database + end), { mode: 0o600 });
  await service.close();
  cpSync(`${database}-files`, `${to}-files`, { recursive: true });
}

/** A folder with the old set as `svc.db` and the new set as `copy.db`, and the set of each key. */
async function folderOfBoth(t: TestContext) {
  const folder = folderOf(t);
  await writeSet(t, databaseIn(folder), "old");
  await writeSet(t, copyIn(folder), "new");
  const keyOf = (path: string) => readFileSync(`${path}.key`, "utf8");
  return { folder, setOfKey: { [keyOf(databaseIn(folder))]: "old", [keyOf(copyIn(folder))]: "new" } };
}
type Both = Awaited<ReturnType<typeof folderOfBoth>>;

/** The set at a path; asserts that all its parts belong together. */
function setAt(path: string, { setOfKey }: Both): string | undefined {
  const database = new Database(path, { readonly: true });
  const set = database.prepare("select name from api_keys where name in ('old', 'new')").pluck().get();
  const files = database.prepare("select id from generations").pluck().all();
  assert.equal(database.pragma("integrity_check", { simple: true }), "ok");
  database.close();
  assert.deepEqual(readdirSync(`${path}-files`), files);
  assert.deepEqual(damagedAssets(path), []);
  assert.equal(setOfKey[readFileSync(`${path}.key`, "utf8")], set, "the key belongs to the database");
  return setOfKey[readFileSync(`${path}.key`, "utf8")];
}

/** Starts a service; returns the set that it found, and its warnings. */
async function start(folder: string, both: Both) {
  const path = databaseIn(folder);
  const { service, warnings } = await beginService({ ...quiet, database: path });
  const set = setAt(path, both);
  assert.ok((await service.keys.create({})).key, "the key file decrypts, and the database takes writes");
  await service.close();
  const left = readdirSync(folder).filter((name) => /staged|switching/.test(name));
  assert.deepEqual(left, []);
  return { set, says: warnings.join() };
}

/**
 * Calls `look` on each state that a kill before a changing call leaves, and on the final state. Returns the number of
 * kills.
 */
async function atEachCall(
  command: Command,
  { folder }: Both,
  look: (folder: string) => Promise<void>,
): Promise<number> {
  const at = `${folder}-${command}`;
  cpSync(folder, at, { recursive: true });
  const { calls: kills } = run(command, at);
  const left = [...Array.from({ length: kills }, (_, i) => `${at}-${i + 1}`), at];
  for (const one of left) {
    await look(one);
    rmSync(one, { recursive: true });
  }
  return kills;
}

describe("a restore or a backup that is killed", { concurrency: 1 }, () => {
  test("before any call that changes a file leaves the old set or the new one, and the next start says which", async (t) => {
    const both = await folderOfBoth(t);
    const seen = { before: 0, restored: 0 };
    const kills = await atEachCall("restore", both, async (folder) => {
      const { set, says } = await start(folder, both);
      if (says.includes("interrupted before it took effect; the database is as it was before")) {
        seen.before += 1;
        assert.equal(set, "old");
      } else if (says.includes("it is finished now, and the database is the new one")) {
        seen.restored += 1;
        assert.equal(set, "new");
      } else assert.equal(says, "");
    });
    assert.ok(kills > 15 && seen.before > 3 && seen.restored > 8, JSON.stringify({ kills, ...seen }));
  });

  test("and then again while the next start finishes it, is still the new set", async (t) => {
    const both = await folderOfBoth(t);
    let call = 1;
    // Finds the first kill after the commit.
    while (!readdirSync(both.folder).includes("svc.db.switching")) {
      assert.ok(run("restore", both.folder, call++).isKilled, "the restore commits");
    }
    const kills = await atEachCall("settle", both, async (folder) => {
      assert.equal((await start(folder, both)).set, "new");
    });
    assert.ok(kills > 8, `${kills} kills`);
  });

  test("a backup over an older copy leaves one that can be restored", async (t) => {
    const both = await folderOfBoth(t);
    await backup(databaseIn(both.folder), copyIn(both.folder), { force: true });
    const target = (folder: string) => join(folder, "restored.db");
    const kills = await atEachCall("backup", both, async (folder) => {
      await restore(copyIn(folder), target(folder), { force: false });
      assert.equal(setAt(target(folder), both), "old");
    });
    assert.ok(kills > 15, `${kills} kills`);
  });
});
