import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { createService, verifySignature } from "../../lib/index.ts";
import { writeKey } from "../../lib/store/encryption.ts";
import { program, run, temporaryFolder } from "../helpers/program.ts";
import { around, expect, seed } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";
import { emptyDatabase } from "./databases.ts";

/** The paths of two key files, the old and the new one. */
function twoKeys(t: TestContext): readonly [old: string, fresh: string] {
  const folder = temporaryFolder(t);
  const [old, fresh] = [join(folder, "old.key"), join(folder, "new.key")];
  writeKey(old, Buffer.alloc(32, 1));
  writeKey(fresh, Buffer.alloc(32, 2));
  return [old, fresh];
}

const wordsOf = (database: string, from: string, to: string) =>
  ["keys", "rotate-encryption", "--database", database, "--key-file", from, "--new-key-file", to] as const;
const hook = { url: "https://hook.inbox.test/", events: ["*"], secret: "hush" };

test("on PostgreSQL, every secret is encrypted again, while no server runs", async (t) => {
  const { url: database } = await emptyDatabase(t);
  const [old, fresh] = twoKeys(t);
  const open = (keyFile: string) =>
    createService({ database, keyFile, clock: "manual@2026-01-01T00:00:00Z", seed, logLevel: "silent" });
  const first = await open(old);
  t.after(() => first.close());
  const { id } = expect(
    await around(first).call("owner", "POST", "/v1/webhooks", hook, { "idempotency-key": "k" }),
    201,
  );
  const rotate = (from: string, to: string) => run(wordsOf(database, from, to));
  const beside = rotate(old, fresh);
  assert.match(beside.stderr, /a server or another copy uses it; stop that one first/);
  await first.close();

  const wrong = join(temporaryFolder(t), "wrong.key");
  writeKey(wrong, Buffer.alloc(32, 9));
  assert.match(rotate(wrong, fresh).stderr, /encrypted with another key/);
  const done = rotate(old, fresh);
  assert.equal(done.status, 0, done.stderr);
  assert.match(
    done.stdout,
    /the new key is in force\. 2 secrets were encrypted again\.\nStart its servers with --key-file/,
  );
  assert.match(rotate(old, fresh).stdout, /the new key is in force already/);
  await assert.rejects(open(old), /encrypted with another key/);
  const second = await open(fresh);
  t.after(() => second.close());
  const received: [string, string | null][] = [];
  second.webhooks.sink("hook", async (request) => {
    received.push([await request.text(), request.headers.get("x-service-signature")]);
    return new Response();
  });
  expect(await around(second).call("owner", "POST", `/v1/webhooks/${id}/test`), 202);
  await second.settle();
  assert.ok(verifySignature("hush", ...(received[0] ?? ["", null])));
});

test("on PostgreSQL, a rotation that is killed before its commit leaves the old key in force", async (t) => {
  const { url: database, ask } = await emptyDatabase(t);
  const [old, fresh] = twoKeys(t);
  const open = async (keyFile: string) => {
    const service = await createService({ database, keyFile, mode: "dev", seed, logLevel: "silent" });
    t.after(() => service.close());
    return service;
  };
  const first = await open(old);
  expect(await around(first).call("owner", "POST", "/v1/webhooks", hook), 201);
  await first.close();
  const sealed = () => ask("select sealed from endpoints");
  const before = await sealed();

  // The command's last statement waits for this lock, after it has encrypted every secret again.
  const blocking = new Client({ connectionString: database });
  await blocking.connect();
  blocking.on("error", () => {});
  await blocking.query("begin; select 1 from settings where name = 'vault' for update");
  const child = spawn(process.execPath, [program, ...wordsOf(database, old, fresh)], { stdio: "ignore" });
  const others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
  let isWaiting = false;
  await until(
    () => isWaiting,
    async () => {
      isWaiting = (await ask(`select 1 ${others} and wait_event_type = 'Lock'`)).length > 0;
    },
  );
  child.kill("SIGKILL");
  await once(child, "close");
  await blocking.end();
  let left = 1;
  await until(
    () => left === 0,
    async () => {
      left = (await ask(`select 1 ${others}`)).length;
    },
  );
  assert.deepEqual(await sealed(), before);
  await assert.rejects(open(fresh), /encrypted with another key/);
  await (await open(old)).close();
  assert.match(run(wordsOf(database, old, fresh)).stdout, /the new key is in force\. \d+ secrets were encrypted again/);
  await open(fresh);
});
