import assert from "node:assert/strict";
import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { migrate, migrations } from "../../lib/store/migrate.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { temporaryFolder } from "../helpers/program.ts";

const current = migrations().length;

test("migrate makes and updates a database file, and a start with --migrate false leaves it to that", async (t) => {
  const folder = temporaryFolder(t);
  const older = new Database(join(folder, "before.db"));
  migrate(older, migrations().slice(0, -1));
  older.close();
  const cases = [
    { name: "none.db", words: /it does not exist; make it with svc-server migrate/, from: 0 },
    { name: "before.db", words: /its schema is older than this svc-server; update it with svc-s/, from: current - 1 },
  ];
  for (const { name, words, from } of cases) {
    const database = join(folder, name);
    const { status, stderr } = await run(["start", "--migrate", "false", "--database", database, "--port", "0"]);
    assert.match(stderr, words);
    assert.equal(status, 1);
    const made = await run(["migrate", "--database", database, "--json"]);
    assert.deepEqual(JSON.parse(made.stdout), { database, from, to: current });
    const again = await run(["migrate", "--database", database]);
    assert.equal(again.stdout, `${database} is up to date (schema ${current}).\n`);
    if (process.platform !== "win32" && from === 0) assert.equal(statSync(database).mode & 0o077, 0);
    const service = await createService({ mode: "start", migrate: false, database, logLevel: "silent" });
    await service.close();
  }
});

test("migrate refuses a file whose server runs, a lost mount, and a newer database", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const refused = async (words: RegExp, code = 1, name = database) => {
    const { status, stderr } = await run(["migrate", "--database", name]);
    assert.match(stderr, words);
    assert.equal(status, code);
  };
  const service = await createService({ mode: "start", database, logLevel: "silent" });
  await refused(/another svc-server \(pid \d+\) is running on it/);
  await service.close();
  const newer = new Database(database);
  newer.pragma("user_version = 1000");
  newer.close();
  await refused(/it was written by a newer svc-server/);
  rmSync(database);
  await refused(/its key file .*svc\.db\.key exists, but the database does not; is a volume not mounted\?/);
  assert.ok(!existsSync(database));
  await refused(/must be a file or a URL/, 2, ":memory:");
  assert.match((await run(["start", "--migrate", "maybe"])).stderr, /option --migrate must be true or false/);
});

test("no command takes the URL of another kind of database for the name of a file, or prints it", async () => {
  const url = "mysql://u:secret@h/db";
  const database = ["--database", url];
  const commands = [
    ["migrate", ...database],
    ["doctor", ...database],
    ["doctor", "--deep", "--json", ...database],
    ["backup", "copy.db", ...database],
    ["restore", "copy.db", ...database],
    ["keys", "create", ...database],
    ["start", ...database],
    ["copy", "--from", url, "--to", "postgres://h/db"],
    ["copy", "--from", "postgres://h/db", "--to", url],
  ];
  for (const words of commands) {
    const { status, stdout, stderr } = await run(words);
    assert.equal(status, 2, words.join(" "));
    assert.match(stderr, /must be the path of a file, or a URL that begins with postgres:\/\//);
    assert.doesNotMatch(stdout + stderr, /secret/);
    assert.ok(!existsSync("mysql:"));
  }
});
