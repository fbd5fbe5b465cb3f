import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService, type Options } from "../../lib/index.ts";
import { readKey } from "../../lib/store/encryption.ts";
import { openPostgresSource } from "../../lib/store/transfer/copy-postgres.ts";
import { openSqliteSource, openSqliteTarget } from "../../lib/store/transfer/copy-sqlite.ts";
import { run, stream, temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";
import { around, world } from "../helpers/test-service.ts";
import { filesOf, filled, going, rowsOfFile, rowsOfPostgres } from "./copied-service.ts";
import { emptyDatabase } from "./databases.ts";

/** Kills a copy with SIGKILL at a line of its progress; returns whether the copy was still running. */
async function killedAt(t: TestContext, words: readonly string[], line: number): Promise<boolean> {
  const child = stream(t, [...words, "--json"], {});
  for (let i = 0; i < line; i++) if ((await child.lines.next()).done) break;
  child.stop("SIGKILL");
  return (await child.ended).code === null;
}

/** Adds enough rows for several pages of a table. */
function addRows(path: string): void {
  const database = new Database(path);
  const insert = database.prepare("insert into app_logs values ('proj_1', 'production', ?, 'org_1', 't', 'info', ?)");
  database.transaction(() => {
    for (let i = 0; i < 5_000; i++) insert.run(i, `line ${i} ${"\u00fc".repeat(i % 500)}`);
  })();
  database.close();
}

/** Lines of progress: at the first tables, within the largest table, at the files, and during the comparison. */
const lines = isLong ? Array.from({ length: 60 }, (_, i) => 1 + (i % 48)) : [1, 9, 21, 25, 40];

interface Way {
  readonly newTarget: () => string | Promise<string>;
  readonly words: (to: string) => readonly string[];
  readonly options: (to: string) => Options;
  /** The reason that a server gives for not starting on an unfinished copy. */
  readonly refusal: RegExp;
}

/**
 * Kills copies into one target, one at each of these lines, and starts a server on the result. Returns the target, with
 * an unfinished copy. On a busy machine a copy may end before its kill arrives; then another one begins.
 */
async function killedInto(t: TestContext, { newTarget, words, options, refusal }: Way): Promise<string> {
  let to = await newTarget();
  for (const line of [...lines, 3]) {
    let hasMet = false;
    for (let tries = 0; tries < 20 && !hasMet; tries++) {
      hasMet = await killedAt(t, words(to), line);
      const started = await createService(options(to)).catch((error) => void assert.match(String(error), refusal));
      if (!started) continue;
      hasMet = false;
      await started.close();
      to = await newTarget();
    }
    assert.ok(hasMet, `no kill at line ${line} met a copy at work`);
  }
  return to;
}

test("a copy whose database goes away says so, ends with 1, and begins again when it is run again", async (t) => {
  const file = join(temporaryFolder(t), "svc.db");
  const { url, ask } = await emptyDatabase(t);
  await (await world(t, { database: file })).service.close();
  addRows(file);
  const words = ["copy", "--from", file, "--to", url];
  const child = stream(t, [...words, "--json"], {});
  for (let i = 0; i < 9; i++) await child.lines.next();
  // It must not end before its connection does.
  child.stop("SIGSTOP");
  const others = "datname = current_database() and pid <> pg_backend_pid()";
  assert.equal((await ask(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`)).length, 1);
  child.stop("SIGCONT");
  for (let line = await child.lines.next(); !line.done; line = await child.lines.next())
    assert.equal(JSON.parse(line.value).event, "progress");
  const { code, errors } = await child.ended;
  assert.equal(code, 1);
  assert.match(
    errors,
    /^svc-server: the copy is not finished: .*; then run the same command again, which starts over\n$/,
  );
  const again = run(words);
  assert.equal(again.status, 0, again.stderr);
  assert.match(again.stdout, /^An earlier copy into postgres:.* was not finished\. .* starts over\.\n/);
  assert.deepEqual(await rowsOfPostgres(url), rowsOfFile(file));
});

test("a copy whose rows differ from their source says of which table, and leaves no copy", async (t) => {
  const file = join(temporaryFolder(t), "svc.db");
  const { url, ask } = await emptyDatabase(t);
  const here = await world(t, { database: file });
  await here.project();
  await here.service.close();
  assert.equal(run(["migrate", "--database", url]).status, 0);
  await ask(`create function other() returns trigger language plpgsql as $$ begin new.name := 'other'; return new; end $$;
    create trigger other before insert on projects for each row execute function other()`);
  const words = ["copy", "--from", file, "--to", url];
  const { status, stderr } = run(words);
  assert.equal(status, 1);
  assert.match(
    stderr,
    /the copy is not finished: the checksums of the table projects differ: 1 rows in the source, 1 in/,
  );
  assert.deepEqual(await ask("select * from projects"), []);
  await ask("drop trigger other on projects");
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
  const refused = /another svc-server .*is running on it/;
  await assert.rejects(createService({ database: back, logLevel: "silent" }), refused);
  const end = target.fill(() => assert.rejects(createService({ database: back, logLevel: "silent" }), refused));
  await end.finally(target.close);
  await (await createService(onPostgres)).close();
});

test("a copy that is killed with -9 at any moment ends whole when it is run again, both ways", async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, "svc.db");
  const was = await filled(t, { database: file });
  await was.here.service.close();
  addRows(file);
  const there = (to: string) => ["copy", "--from", file, "--to", to];
  const url = await killedInto(t, {
    newTarget: async () => (await emptyDatabase(t)).url,
    words: there,
    options: (database) => ({ database, keyFile: `${file}.key`, logLevel: "silent" }),
    // PostgreSQL may need a moment to notice that its client was killed.
    refusal: /a copy into it is not finished; run svc-server copy again|svc-server copy works on it/,
  });
  // A server may run on the source before the copy restarts.
  const between = await world(t, going({ database: file }));
  await between.service.clock.advance("10m");
  assert.equal((await between.call("owner", "DELETE", `/v1/projects/${was.keyed.id}`)).status, 204);
  await between.project("later");
  await between.service.close();
  const ended = run(there(url));
  assert.equal(ended.status, 0, ended.stderr);
  assert.deepEqual(await rowsOfPostgres(url), rowsOfFile(file));

  let targets = 0;
  const home = (to: string) => ["copy", "--from", url, "--to", to, "--key-file", `${file}.key`];
  const back = await killedInto(t, {
    newTarget: () => join(folder, `back-${targets++}.db`),
    words: home,
    options: (database) => ({ database, logLevel: "silent" }),
    refusal:
      /a restore or a copy was interrupted before it took effect, and there was no database before; run it again/,
  });
  assert.ok(!existsSync(back), "an unfinished copy has another name");
  const whole = run(home(back));
  assert.equal(whole.status, 0, whole.stderr);
  assert.match(whole.stdout, /^An earlier copy into .* was not finished/);
  assert.ok(!existsSync(`${back}.staged`));
  assert.deepEqual(rowsOfFile(back), rowsOfFile(file));
  assert.deepEqual(filesOf(`${back}-files`), filesOf(`${file}-files`));
  const last = around(await createService(going({ database: back, logLevel: "silent" })));
  assert.deepEqual(await last.service.invariants(), []);
  await last.service.close();
});
