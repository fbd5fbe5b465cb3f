import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createService } from "../../lib/index.ts";
import { migrations } from "../../lib/store/migrate.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { emptyDatabase } from "./databases.ts";

const current = migrations().length;
const encryptionKey = Buffer.alloc(32, 7).toString("hex");

/** A database of an earlier version, without the last migration. */
async function older(t: TestContext): Promise<string> {
  const { url, ask } = await emptyDatabase(t);
  const table = "create table migrations (version integer primary key, name text not null, checksum text not null)";
  const applied = migrations().slice(0, -1);
  const rows = applied.map(({ version, name, checksum }) => `(${version}, '${name}', '${checksum}')`);
  const portable = applied.map(({ sql }) => sql.replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"'));
  await ask([table, ...portable, `insert into migrations values ${rows}`].join(";"));
  return url;
}

test("migrate makes and updates the tables, and servers with --migrate false leave it to that", async (t) => {
  const cases = [
    { url: (await emptyDatabase(t)).url, words: /it has no tables; .* run svc-server migrate/, from: 0 },
    { url: await older(t), words: /its schema is older than this svc-server; update it with svc-s/, from: current - 1 },
  ];
  for (const { url, words, from } of cases) {
    const start = ["start", "--migrate", "false", "--database", url, "--port", "0"];
    const { status, stderr } = await run(start, undefined, { SVC_ENCRYPTION_KEY: encryptionKey });
    assert.match(stderr, words);
    assert.equal(status, 1);
    const database = url.replace(":wrong-but-trusted", "");
    const made = await run(["migrate", "--database", url, "--json"]);
    assert.deepEqual(JSON.parse(made.stdout), { database, from, to: current });
    const again = await run(["migrate", "--database", url]);
    assert.equal(again.stdout, `${database} is up to date (schema ${current}).\n`);
    const options = { mode: "start", migrate: false, logLevel: "silent" } as const;
    const service = await createService({ ...options, database: url, encryptionKey });
    // `migrate` also works while a server runs.
    assert.equal((await run(["migrate", "--database", url])).status, 0);
    await service.close();
  }
});

test("migrate refuses another program's database, a newer one, and one that is away", async (t) => {
  const refused = async (database: string, words: RegExp) => {
    const { status, stderr } = await run(["migrate", "--database", database]);
    assert.match(stderr, words);
    assert.equal(status, 1);
  };
  const { url, ask } = await emptyDatabase(t);
  await ask("create table migrations (id int, title text)");
  await refused(url, /it belongs to another program/);
  await ask("drop table migrations");
  assert.equal((await run(["migrate", "--database", url])).status, 0);
  await ask("insert into migrations select 1000 + version, name, checksum from migrations");
  await refused(url, /it was written by a newer svc-server/);
  await refused("postgres://svc@127.0.0.1:1/none", /no server answers there/);
});
