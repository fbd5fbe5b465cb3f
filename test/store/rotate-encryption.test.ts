import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService, verifySignature } from "../../lib/index.ts";
import { createEncryption, fingerprintOf, readKey, writeKey } from "../../lib/store/encryption.ts";
import { contextOf, sealedColumns } from "../../lib/store/sealed-columns.ts";
import { openMemory } from "../../lib/store/sqlite/database-files.ts";
import { nextKeyOf } from "../../lib/store/transfer/next-key.ts";
import { launch, program, run, temporaryFolder } from "../helpers/program.ts";
import { around, expect, world } from "../helpers/test-service.ts";

/** The clock stands, so nothing is pruned. */
const clock = "manual@2026-01-01T00:00:00Z";
const bytes = (length: number) => Buffer.alloc(length, 7);

/** A database with a secret of every kind, and its new key. */
async function filled(t: TestContext, webhooks = 1) {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const here = await world(t, { database });
  const { call } = here;
  for (let i = 0; i < webhooks; i++) {
    const hook = {
      url: "https://hook.inbox.test/",
      events: ["*"],
      secret: `secret ${i}`,
      headers: { "X-Token": "token" },
    };
    expect(await call("owner", "POST", "/v1/webhooks", hook, { "idempotency-key": `k${i}` }), 201);
  }
  const { id } = await here.project();
  const variables = { PORT: "1", TOKEN: { value: "of production", secret: true } };
  expect(await call("owner", "PUT", `/v1/projects/${id}/environments/production`, { variables }), 200);
  expect(await call("owner", "POST", "/v1/users/invite", { email: "ada@acme.test", role: "viewer" }), 201);
  await here.service.close();
  const file = join(folder, "new.key");
  writeKey(file, bytes(32));
  return { database, file, words: ["keys", "rotate-encryption", "--database", database, "--new-key-file", file] };
}

/**
 * The encrypted values of a database, decrypted with the key that the stored fingerprint names; fails for a value that
 * this key cannot read.
 */
function secretsOf(path: string): string[] {
  const key = [`${path}.key`, nextKeyOf(path)].filter((file) => existsSync(file)).map(readKey);
  const database = new Database(path);
  const vault = database.prepare("select value from settings where name = 'vault'").pluck().get();
  const inForce = key.find((one) => fingerprintOf(one) === vault);
  assert.ok(inForce, "the key in force is beside the database");
  const { decrypt } = createEncryption(inForce, bytes);
  const found: string[] = [];
  for (const { table, again } of sealedColumns) {
    for (const row of database.prepare(`select * from ${table} order by 1, 2, 3`).all() as never[])
      again(row, (context, sealed) => {
        found.push(decrypt(context, sealed));
        return "";
      });
  }
  database.close();
  return found;
}

test("Every secret is encrypted again, and the service goes on with the new key", async (t) => {
  const { database, file, words } = await filled(t);
  const [before, old] = [secretsOf(database), readKey(`${database}.key`)];
  assert.equal(before.length, 4);
  const { status, stdout, stderr } = run(words);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /the new key is in force\. 4 secrets were encrypted again\.\n$/);
  assert.deepEqual(secretsOf(database), before);
  assert.deepEqual([readKey(`${database}.key`), existsSync(nextKeyOf(database))], [readKey(file), false]);
  assert.match(run(words).stdout, /the new key is in force already, and nothing was changed/);

  const service = await createService({ database, clock, logLevel: "silent" });
  t.after(() => service.close());
  const here = around(service);
  const received: [string, string | null][] = [];
  service.webhooks.sink("hook", async (request) => {
    received.push([await request.text(), request.headers.get("x-service-signature")]);
    return new Response();
  });
  const { data } = expect(await here.call("owner", "GET", "/v1/webhooks"), 200);
  expect(await here.call("owner", "POST", `/v1/webhooks/${data[0].id}/test`), 202);
  await service.settle();
  assert.ok(verifySignature("secret 0", ...(received[0] ?? ["", null])));
  await service.close();

  writeKey(`${database}.key`, old);
  await assert.rejects(createService({ database, logLevel: "silent" }), /encrypted with another key/);
});

test("A missing or wrong key, and a running server, are refused, and change nothing", async (t) => {
  const { database, file, words } = await filled(t);
  const before = secretsOf(database);
  const refused = (given: readonly string[], reason: RegExp) => {
    const { status, stderr } = run(given);
    assert.notEqual(status, 0);
    assert.match(stderr, reason);
    assert.deepEqual(secretsOf(database), before);
  };
  refused(words.slice(0, 4), /--new-key-file must name a file/);
  refused([...words.slice(0, 5), `${file}.none`], /--new-key-file: .*does not exist|no such file/i);
  writeFileSync(`${file}.short`, "c2hvcnQ=");
  refused([...words.slice(0, 5), `${file}.short`], /--new-key-file: .*32 bytes/);
  const server = await launch(t, ["dev", "--port", "0", "--clock", clock, "--database", database]);
  assert.ok(server.url);
  refused(words, /is running on it; stop that one/);
});

test("A rotation that is killed leaves the old key or the new one in force, and the next start says which", async (t) => {
  const { database, words } = await filled(t, 60);
  const before = secretsOf(database);
  const said = new Set<string>();
  for (let moment = 1; moment <= 12; moment++) {
    const folder = temporaryFolder(t);
    const copy = join(folder, "svc.db");
    for (const suffix of ["", ".key"]) copyFileSync(database + suffix, copy + suffix);
    let events = 0;
    const child = spawn(process.execPath, [program, ...words.map((word) => (word === database ? copy : word))]);
    const watcher = watch(folder, () => {
      events += 1;
      if (events === moment) child.kill("SIGKILL");
    });
    await once(child, "close");
    watcher.close();
    assert.deepEqual(secretsOf(copy), before, `a kill at change ${moment} of the folder: ${readdirSync(folder)}`);
    const warnings: string[] = [];
    const log = (message: string) => void warnings.push(message);
    const logger = { error: log, warn: log, info: () => {}, debug: () => {} };
    const service = await createService({ database: copy, clock, logger });
    await service.close();
    assert.ok(!existsSync(nextKeyOf(copy)));
    assert.deepEqual(secretsOf(copy), before);
    for (const warning of warnings)
      if (warning.startsWith("a rotation")) said.add(/the \w+ key is in force$/.exec(warning)?.[0] ?? "");
  }
  t.diagnostic(`said: ${[...said].join(", ")}`);
});

for (const [isCommitted, sentence] of [
  [false, /before it took effect: the old key is in force/],
  [true, /after it took effect: the new key is in force/],
] as const) {
  test(`A rotation that was killed ${isCommitted ? "after" : "before"} its commit is settled by the next start`, async (t) => {
    const { database, words } = await filled(t);
    const before = secretsOf(database);
    const old = readFileSync(`${database}.key`);
    if (isCommitted) {
      assert.equal(run(words).status, 0);
      copyFileSync(`${database}.key`, nextKeyOf(database));
      writeFileSync(`${database}.key`, old);
      // Other commands find the key too.
      assert.equal(run(["keys", "list", "--database", database]).status, 0);
    } else writeKey(nextKeyOf(database), bytes(32));
    const warnings: string[] = [];
    const warn = (message: string) => void warnings.push(message);
    const service = await createService({
      database,
      clock,
      logger: { error: warn, warn, info: () => {}, debug: () => {} },
    });
    await service.close();
    assert.match(warnings.join("\n"), sentence);
    assert.deepEqual(secretsOf(database), before);
    assert.deepEqual(readFileSync(`${database}.key`).equals(old), !isCommitted);
  });
}

/** These files encrypt a cookie, which has no column. */
const inBrowsers: readonly string[] = ["dashboard/oidc-routes.ts"];

test("Every encrypted value has its column in the list of the rotation", () => {
  const { database, engine } = openMemory();
  const tables = database.prepare("select name from sqlite_schema where type = 'table'").pluck().all() as string[];
  const sealed = tables.flatMap((table) =>
    (database.pragma(`table_info(${table})`) as { name: string }[])
      .filter(({ name }) => name.startsWith("sealed"))
      .map(({ name }) => `${table}.${name}`),
  );
  void engine.close();
  const listed = sealedColumns.map(({ table, column }) => `${table}.${column}`);
  assert.deepEqual(
    sealed.filter((column) => !listed.includes(column)),
    [],
    "add it to lib/store/sealed-columns.ts",
  );
  const contexts = Object.keys(contextOf).join("|");
  const calls = readdirSync("lib", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.startsWith("store/") && !inBrowsers.includes(name))
    .flatMap((name) => [...readFileSync(join("lib", name), "utf8").matchAll(/encryption\.(?:en|de)crypt\((.{0,40})/gs)])
    .map(([, argument = ""]) => argument.trim());
  assert.ok(calls.length >= 8);
  for (const argument of calls)
    assert.match(
      argument,
      new RegExp(`^contextOf\\.(?:${contexts})\\(`),
      "encrypt with a context of lib/store/sealed-columns.ts",
    );
});
