import assert from "node:assert/strict";
import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { migrate, migrations } from "../../lib/store/migrate.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { violations } from "../helpers/invariants.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { world } from "../helpers/test-service.ts";
import { filesOf, filled, goesOn, going, rowsOfFile, rowsOfPostgres } from "./copied-service.ts";
import { emptyDatabase } from "./databases.ts";

test("a service goes to PostgreSQL and back with everything, and goes on with its work", async (t) => {
  const folder = temporaryFolder(t);
  const [file, back] = [join(folder, "svc.db"), join(folder, "back", "svc.db")];
  const { url } = await emptyDatabase(t);
  const was = await filled(t, { database: file });
  await was.here.service.close();
  // PostgreSQL cannot store these characters, but a receiver may send them.
  const database = new Database(file);
  const changed = database.prepare(
    "update delivery_attempts set response = 'a' || char(0) || '\\u0000' where number = 1",
  );
  assert.ok(changed.run().changes > 0);
  database.close();

  const there = await run(["copy", "--from", file, "--to", url, "--json"]);
  assert.equal(there.status, 0, there.stderr);
  assert.doesNotMatch(there.stdout, /wrong-but-trusted/);
  const lines = there.stdout
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text));
  const { event, was_complete, rows, files, lost_files } = lines.at(-1);
  assert.deepEqual([event, was_complete, files, lost_files], ["copied", false, 1, []]);
  const before = rowsOfFile(file);
  for (const all of Object.values(before))
    for (const [i, text] of all.entries()) all[i] = text.replace("a\\u0000", "a\ufffd");
  assert.equal(rows, Object.values(before).flat().length);
  for (const name of ["jobs", "deliveries", "idempotency_keys", "generations", "settings", "invitations"])
    assert.ok(before[name]?.length, name);
  assert.deepEqual(await rowsOfPostgres(url), before);
  const again = await run(["copy", "--from", file, "--to", url]);
  assert.equal(again.status, 0, again.stderr);
  assert.match(again.stdout, /was already a complete copy .*: \d+ rows and 1 file were compared\./);
  assert.match(
    again.stdout,
    /svc-server start --database postgres:\/\/svc@127.0.0.1:\d+\/\w+ --key-file .*svc\.db\.key/,
  );

  const keyFile = `${file}.key`;
  const next = await world(t, going({ database: url, keyFile }));
  await goesOn(next, was);
  await next.service.close();
  const after = await rowsOfPostgres(url);

  assert.match(
    (await run(["copy", "--from", file, "--to", url])).stderr,
    /holds a service already: another service, or this one with newer work/,
  );
  assert.match((await run(["copy", "--from", url, "--to", back])).stderr, /it needs its encryption key, in SVC_ENC/);
  const home = await run(["copy", "--from", url, "--to", back, "--key-file", keyFile]);
  assert.equal(home.status, 0, home.stderr);
  assert.deepEqual(rowsOfFile(back), after);
  assert.deepEqual(filesOf(`${back}-files`), filesOf(`${file}-files`));
  assert.equal(readFileSync(`${back}.key`, "utf8"), readFileSync(keyFile, "utf8"));
  if (process.platform !== "win32")
    for (const path of [back, `${back}.key`]) assert.equal(statSync(path).mode & 0o077, 0, path);
  assert.ok(!existsSync(`${back}.staged`));
  const whole = new Database(back, { readonly: true });
  assert.deepEqual(violations(whole), []);
  whole.close();
  const last = await world(t, going({ database: back }));
  assert.equal((await last.deploy(was.id)).status, "queued");
  await last.service.close();
});

test("copy refuses databases that are used, of another service, of another schema, or with another key", async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  const [{ url, ask }, other] = [await emptyDatabase(t), await emptyDatabase(t)];
  for (const name of ["a.db", "b.db"]) await (await world(t, { database: at(name) })).service.close();
  const refused = async (words: readonly string[], code: number, sentence: RegExp, env = {}) => {
    const { status, stdout, stderr } = await run(["copy", ...words], folder, env);
    assert.match(stderr, sentence);
    assert.doesNotMatch(stdout + stderr, /wrong-but-trusted/);
    assert.equal(status, code, words.join(" "));
  };
  const there = ["--from", at("a.db"), "--to", url];
  await refused(["--from", at("a.db")], 2, /copy needs the options --from and --to/);
  await refused(
    ["--from", at("a.db"), "--to", at("c.db")],
    2,
    /must be a URL such as .*; copy a file with svc-server ba/,
  );
  await refused(["--from", url, "--to", other.url], 2, /must be a database file; .* pg_dump and pg_restore/);
  await refused(["--from", at("none.db"), "--to", url], 1, /none\.db cannot be used: it does not exist/);
  await refused(["--from", url, "--to", at("c.db"), "--key-file", at("a.db.key")], 1, /it has no tables/);
  const away = "postgres://svc:wrong-but-trusted@127.0.0.1:1/none";
  await refused(
    ["--from", at("a.db"), "--to", away],
    1,
    /no server answers there; start PostgreSQL, or correct the URL/,
  );
  await refused([...there, "--key-file", at("b.db.key")], 1, /its key is in .*a\.db\.key, but another key was given/);
  assert.deepEqual(await ask("select to_regclass('settings') as made"), [{ made: null }]);

  const running = await world(t, { database: at("a.db") });
  await refused(there, 1, /another svc-server \(pid \d+\) is running on it; stop that one/);
  await running.service.close();
  assert.equal((await run(["copy", ...there])).status, 0);
  const onPostgres = await world(t, { database: url, keyFile: at("a.db.key") });
  const home = ["--from", url, "--to", at("c.db")];
  await refused([...home, "--key-file", at("a.db.key")], 1, /a server or another copy uses it; stop that one first/);
  await onPostgres.service.close();
  await refused([...home, "--key-file", at("b.db.key")], 1, /encrypted with another key; restore the key that belongs/);
  await refused(home, 1, /it needs its encryption key/);
  const wrong = { SVC_ENCRYPTION_KEY: "sk_live_demo_key" };
  await refused(home, 2, /SVC_ENCRYPTION_KEY must be 32 bytes in base64 or hex/, wrong);
  await refused(["--from", at("b.db"), "--to", url], 1, /it holds another service; name an empty database/);
  await refused(["--from", url, "--to", at("b.db"), "--key-file", at("a.db.key")], 1, /it holds another service/);
  await other.ask("create table migrations (id int, title text)");
  await refused(["--from", at("a.db"), "--to", other.url], 1, /it belongs to another program/);
  await ask("insert into migrations select 1000 + version, name, checksum from migrations");
  await refused([...home, "--key-file", at("a.db.key")], 1, /it was written by a newer svc-server/);
  const older = new Database(at("older.db"));
  migrate(older, migrations().slice(0, -1));
  older.close();
  copyFileSync(at("b.db.key"), at("older.db.key"));
  await refused(["--from", at("older.db"), "--to", url], 1, /its schema is older than this svc-server/);
  rmSync(at("older.db.key"));
  await refused(["--from", at("older.db"), "--to", url], 1, /its key file .*older\.db\.key is missing/);
  assert.ok(!existsSync(at("c.db")), "nothing is made");
});

test("files go to a folder that servers share, and back", async (t) => {
  const folder = temporaryFolder(t);
  const [file, shared] = [join(folder, "svc.db"), join(folder, "shared")];
  const { url, ask } = await emptyDatabase(t);
  const was = await filled(t, { database: file });
  await was.here.service.close();
  const more = ["--assets-folder", shared];
  assert.equal((await run(["copy", "--from", file, "--to", url, ...more])).status, 0);
  assert.deepEqual(filesOf(shared), filesOf(`${file}-files`));
  assert.deepEqual(await ask("select * from asset_parts"), []);
  const other = await emptyDatabase(t);
  const taken = await run(["copy", "--from", file, "--to", other.url, ...more]);
  assert.match(taken.stderr, /files of another database are in .*shared; move them away, or name another folder/);
  assert.deepEqual(filesOf(shared), filesOf(`${file}-files`), "none of them is removed");
  const assets = { store: "folder", folder: shared } as const;
  const next = await world(t, going({ database: url, keyFile: `${file}.key`, assets }));
  await goesOn(next, was);
  await next.service.close();
  const inFolder = { SVC_ASSETS_STORE: "folder", SVC_ASSETS_FOLDER: shared };
  const doctor = ["doctor", "--database", url, "--port", "0"];
  assert.match((await run(doctor, folder, inFolder)).stdout, /ok +files +all files of generations are present/);
  writeFileSync(join(shared, was.generation.id), "changed");
  assert.match(
    (await run(doctor, folder, inFolder)).stdout,
    /WRONG +files .*such as that of gen_\w+; restore .*shared/,
  );
  const home = ["copy", "--from", url, "--to", join(folder, "back.db"), "--key-file", `${file}.key`];
  const back = await run(home, folder, { SVC_ASSETS_FOLDER: shared });
  assert.match(
    back.stdout,
    new RegExp(`But the file of 1 generation is missing or changed, such as that of ${was.generation.id}`),
  );
  assert.deepEqual(filesOf(join(folder, "back.db-files")), filesOf(shared));
});
