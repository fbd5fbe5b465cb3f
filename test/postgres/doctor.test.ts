import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection, createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { invariants } from "../../lib/store/invariants.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { filled } from "./copied-service.ts";
import { emptyDatabase } from "./databases.ts";

const encryptionKey = Buffer.alloc(32, 7).toString("hex");

async function look(url: string, more: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const words = ["doctor", "--database", url, "--port", "0", "--json", ...more];
  const { status, stdout, stderr } = await run(words, undefined, env);
  assert.doesNotMatch(stdout + stderr, /wrong-but-trusted/);
  const findings = JSON.parse(stdout) as { check: string; ok: boolean; says: string }[];
  const saysOf = (name: string) => findings.find(({ check }) => check === name)?.says ?? "";
  return { status, findings, saysOf, wrong: findings.filter(({ ok }) => !ok).map(({ check }) => check) };
}

/** The server of the tests forgets much in a power cut. */
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
  assert.match(given.saysOf("server"), /^PostgreSQL \d+\S* .*without a connection pooler/);
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
  await ask("insert into migrations select 1000 + version, name, checksum from migrations");
  assert.match((await look(url)).saysOf("schema"), /written by a newer svc-server/);
});

/** A pooler, as far as a start can tell: the number of the backend is its own. */
async function pooler(t: TestContext, url: string): Promise<string> {
  const proxy = createServer((socket) => {
    const target = createConnection(Number(new URL(url).port), "127.0.0.1");
    for (const one of [socket, target]) one.on("error", () => {});
    socket.pipe(target);
    target.on("data", (bytes: Buffer) => {
      const at = bytes.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]));
      if (at >= 0) bytes.writeUInt32BE(7, at + 5);
      socket.write(bytes);
    });
    target.on("close", () => socket.destroy());
    socket.on("close", () => target.destroy());
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  t.after(() => proxy.close());
  const address = proxy.address();
  assert.ok(address && typeof address === "object");
  return Object.assign(new URL(url), { port: String(address.port) }).href;
}

test("doctor tells a pooler, a server that is away, a wrong name and a missing key file", async (t) => {
  const { url } = await emptyDatabase(t);
  const pooled = await look(await pooler(t, url));
  assert.deepEqual(pooled.wrong, ["server", ...unsafe]);
  assert.match(pooled.saysOf("server"), /a connection pooler is in between; name the address of PostgreSQL itself/);
  const away = await look("postgres://svc:wrong-but-trusted@127.0.0.1:1/none");
  assert.deepEqual(away.wrong, ["database"]);
  assert.match(away.saysOf("database"), /no server answers there; start PostgreSQL, or correct the URL/);
  const none = await look(Object.assign(new URL(url), { pathname: "/none" }).href);
  assert.match(none.saysOf("database"), /has no database of this name; make it first/);
  const lost = await look(url, ["--key-file", join(temporaryFolder(t), "none")]);
  assert.deepEqual(lost.wrong, [...unsafe, "encryption key"]);
});
