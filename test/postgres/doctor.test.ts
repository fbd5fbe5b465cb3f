import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { invariants } from "../../lib/store/invariants.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { filled } from "./copied-service.ts";
import { emptyDatabase } from "./databases.ts";
import { startPooler, withoutPooler } from "./pooler.ts";

const encryptionKey = Buffer.alloc(32, 7).toString("hex");

async function look(url: string, more: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const words = ["doctor", "--database", url, "--port", "0", "--json", ...more];
  const { status, stdout, stderr } = await run(words, undefined, env);
  assert.doesNotMatch(stdout + stderr, /wrong-but-trusted/);
  const findings = JSON.parse(stdout) as { check: string; ok: boolean; says: string }[];
  const saysOf = (name: string) => findings.find(({ check }) => check === name)?.says ?? "";
  return { status, findings, saysOf, wrong: findings.filter(({ ok }) => !ok).map(({ check }) => check) };
}

/** The tests' server is not durable. */
const unsafe = ["durability"];

test("doctor looks at PostgreSQL, and says how to mend what is wrong", async (t) => {
  const { url, ask } = await emptyDatabase(t);
  const fresh = await look(url);
  assert.deepEqual(fresh.wrong, unsafe);
  assert.match(fresh.saysOf("durability"), /set fsync and full_page_writes to on/);
  assert.match(fresh.saysOf("schema"), /no tables yet/);
  assert.deepEqual((await look(url, ["--migrate", "false"])).wrong, [...unsafe, "schema"]);

  const here = await filled(t, { database: url, encryptionKey });
  const given = await look(url, ["--deep"], { SVC_ENCRYPTION_KEY: encryptionKey });
  assert.deepEqual(given.wrong, unsafe, "a server runs on it");
  assert.equal(given.findings.filter(({ check }) => check === "rule").length, Object.keys(invariants).length);
  assert.deepEqual(
    given.findings.slice(0, 10).map(({ check }) => check),
    ["options", "node", "pg", "server", "database", "durability", "schema", "collation", "encryption key", "files"],
  );
  assert.match(given.saysOf("server"), /^PostgreSQL \d+/);
  assert.match(given.saysOf("database"), /^postgres:\/\/svc@127\.0\.0\.1:\d+\/\w+ answers, \d+ MB$/);
  assert.match(given.saysOf("encryption key"), /it decrypts the secrets/);
  assert.match(given.saysOf("database clock"), /^\d+ ms (behind|ahead of) this machine's/);
  assert.match((await look(url)).saysOf("encryption key"), /not given here/);
  await here.here.service.close();

  await ask('alter table projects alter column name type text collate "en-US-x-icu"');
  await ask("update asset_parts set content = 'AAAA'");
  await ask("update deployments set version = null, lined_up = 7 where status = 'active'");
  const ill = await look(url, ["--deep"], { SVC_ENCRYPTION_KEY: "0".repeat(64) });
  assert.deepEqual([ill.status, ill.wrong.slice(0, 4)], [1, [...unsafe, "collation", "encryption key", "files"]]);
  assert.match(ill.saysOf("collation"), /the column projects\.name compares text as en-US-x-icu, .*; move the service/);
  assert.match(ill.saysOf("encryption key"), /encrypted with another key; give the key/);
  assert.match(
    ill.saysOf("files"),
    /1 of the files of generations are missing or changed, such as that of gen_\w+; restore the table/,
  );
  assert.equal(ill.wrong[4], "rule");
  await ask("insert into settings values ('copy', 'half')");
  assert.match((await look(url)).saysOf("schema"), /a copy into it is not finished/);
  await ask("drop index events_listed");
  assert.match((await look(url)).saysOf("schema"), /events_listed is missing; restore it from a backup/);
  await ask("insert into migrations select 1000 + version, name, checksum from migrations");
  assert.match((await look(url)).saysOf("schema"), /written by a newer svc-server/);
});

test("doctor tells a pooler in transaction mode", { skip: withoutPooler }, async (t) => {
  const { url } = await emptyDatabase(t);
  const pooled = await look(await startPooler(t, url, "transaction"));
  assert.deepEqual(pooled.wrong, ["database"]);
  assert.match(pooled.saysOf("database"), /a connection pooler in transaction mode is in between; name the address/);
});

test("doctor tells a server that is away, a wrong name and a missing key file", async (t) => {
  const { url } = await emptyDatabase(t);
  const away = await look("postgres://svc:wrong-but-trusted@127.0.0.1:1/none");
  assert.deepEqual(away.wrong, ["database"]);
  assert.match(away.saysOf("database"), /no server answers there; start PostgreSQL, or correct the URL/);
  const none = await look(Object.assign(new URL(url), { pathname: "/none" }).href);
  assert.match(none.saysOf("database"), /has no database of this name; make it first/);
  const lost = await look(url, ["--key-file", join(temporaryFolder(t), "none")]);
  assert.deepEqual(lost.wrong, [...unsafe, "encryption key"]);
  const keyFile = join(temporaryFolder(t), "svc.key");
  writeFileSync(keyFile, `${encryptionKey}\n`, { mode: 0o640 });
  const open = await look(url, ["--key-file", keyFile]);
  assert.deepEqual(open.wrong, ["key file", ...unsafe]);
  assert.equal(open.saysOf("key file"), `other users can read ${keyFile}; run: chmod 600 ${keyFile}`);
  chmodSync(keyFile, 0o600);
  const own = await look(url, ["--key-file", keyFile]);
  assert.deepEqual([own.wrong, own.saysOf("key file")], [unsafe, `only its owner can read ${keyFile}`]);
});
