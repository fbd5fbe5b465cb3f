import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { openPostgresSource } from "../../lib/store/copy-postgres.ts";
import { openSqliteSource, openSqliteTarget } from "../../lib/store/copy-sqlite.ts";
import { readKey } from "../../lib/store/encryption.ts";
import { run, stream, temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";
import { around, world } from "../helpers/test-service.ts";
import { filesOf, filled, going, rowsOfFile, rowsOfPostgres } from "./copied-service.ts";
import { emptyDatabase } from "./databases.ts";

/** Kills a copy with -9 at a line of its progress; answers whether it was still at work. */
async function killedAt(t: TestContext, words: readonly string[], line: number): Promise<boolean> {
  const child = stream(t, [...words, "--json"], {});
  for (let i = 0; i < line; i++) if ((await child.lines.next()).done) break;
  child.stop("SIGKILL");
  return (await child.ended).code === null;
}

/** So many rows that some tables take several pages. */
function addRows(path: string): void {
  const database = new Database(path);
  const insert = database.prepare("insert into app_logs values ('proj_1', 'production', ?, 'org_1', 't', 'info', ?)");
  database.transaction(() => {
    for (let i = 0; i < 5_000; i++) insert.run(i, `line ${i} ${"\u00fc".repeat(i % 500)}`);
  })();
  database.close();
}

/** Lines of progress: within the first tables, within the largest one, with the files, and while both are compared. */
const lines = isLong ? Array.from({ length: 60 }, (_, i) => i + 1) : [1, 9, 30, 45, 52];

test("a copy whose database goes away says so, ends with 1, and goes on when it is run again", async (t) => {
  const file = join(temporaryFolder(t), "svc.db");
  const { url, ask } = await emptyDatabase(t);
  await (await world(t, { database: file })).service.close();
  addRows(file);
  const words = ["copy", "--from", file, "--to", url];
  const child = stream(t, [...words, "--json"], {});
  for (let i = 0; i < 9; i++) await child.lines.next();
  const others = "datname = current_database() and pid <> pg_backend_pid()";
  assert.equal((await ask(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`)).length, 1);
  for (let line = await child.lines.next(); !line.done; line = await child.lines.next())
    assert.equal(JSON.parse(line.value).event, "progress");
  const { code, errors } = await child.ended;
  assert.equal(code, 1);
  assert.match(errors, /^svc-server: the copy is not finished: .*; then run the same command again, and it goes on\n$/);
  assert.equal(run(words).status, 0);
  assert.deepEqual(await rowsOfPostgres(url), rowsOfFile(file));
});

test("no server starts on a database that is being copied", async (t) => {
  const folder = temporaryFolder(t);
  const [file, back] = [join(folder, "svc.db"), join(folder, "back.db")];
  const { url } = await emptyDatabase(t);
  await (await world(t, { database: file })).service.close();
  assert.equal(run(["copy", "--from", file, "--to", url]).status, 0);
  const onPostgres = { database: url, keyFile: `${file}.key`, logLevel: "silent" } as const;
  const sources = [await openSqliteSource(file), await openPostgresSource(url, undefined, { alone: true })];
  await assert.rejects(createService({ database: file, logLevel: "silent" }), /another svc-server .*is running on it/);
  await assert.rejects(createService(onPostgres), /svc-server copy works on it; wait until it has ended/);
  for (const source of sources) await source.close();
  const target = await openSqliteTarget(back, readKey(`${file}.key`));
  await assert.rejects(createService({ database: back, logLevel: "silent" }), /another svc-server .*is running on it/);
  await target.close();
  await (await createService(onPostgres)).close();
});

test("a copy that is killed with -9 at any moment ends whole when it is run again, both ways", async (t) => {
  const folder = temporaryFolder(t);
  const [file, back] = [join(folder, "svc.db"), join(folder, "back.db")];
  const { url } = await emptyDatabase(t);
  const was = await filled(t, { database: file });
  await was.here.service.close();
  addRows(file);
  const there = ["copy", "--from", file, "--to", url];
  let kills = 0;
  for (const line of lines) kills += Number(await killedAt(t, there, line));
  assert.ok(kills >= lines.length - 1, `${kills} kills met a copy at work`);
  const options = { database: url, keyFile: `${file}.key`, logLevel: "silent" } as const;
  await assert.rejects(createService(options), /a copy into it is not finished; run svc-server copy again/);
  // A server may run on the source before the copy goes on: rows are changed, added and removed that were copied already.
  const between = await world(t, going({ database: file }));
  await between.service.clock.advance("10m");
  assert.equal((await between.call("owner", "DELETE", `/v1/projects/${was.keyed.id}`)).status, 204);
  await between.project("later");
  await between.service.close();
  await killedAt(t, there, 3);
  const ended = run(there);
  assert.equal(ended.status, 0, ended.stderr);
  assert.deepEqual(await rowsOfPostgres(url), rowsOfFile(file));

  const home = ["copy", "--from", url, "--to", back, "--key-file", `${file}.key`];
  for (const line of lines) {
    if (!(await killedAt(t, home, line))) break;
    assert.ok(!existsSync(back), "an unfinished copy has another name");
  }
  assert.equal(run(home).status, 0);
  assert.deepEqual(rowsOfFile(back), rowsOfFile(file));
  assert.deepEqual(filesOf(`${back}-files`), filesOf(`${file}-files`));
  const last = around(await createService(going({ database: back, logLevel: "silent" })));
  assert.deepEqual(await last.service.invariants(), []);
  await last.service.close();
});
