import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createService, verifySignature } from "../../lib/index.ts";
import { writeKey } from "../../lib/store/encryption.ts";
import { run, temporaryFolder } from "../helpers/program.ts";
import { around, expect, seed } from "../helpers/test-service.ts";
import { emptyDatabase } from "./databases.ts";

test("on PostgreSQL, every secret is encrypted again, while no server runs", async (t) => {
  const { url: database } = await emptyDatabase(t);
  const folder = temporaryFolder(t);
  const [old, fresh] = ["old", "new"].map((name, i) => {
    const file = join(folder, `${name}.key`);
    writeKey(file, Buffer.alloc(32, i + 1));
    return file;
  }) as [string, string];
  const open = (keyFile: string) =>
    createService({ database, keyFile, clock: "manual@2026-01-01T00:00:00Z", seed, logLevel: "silent" });
  const first = await open(old);
  t.after(() => first.close());
  const hook = { url: "https://hook.inbox.test/", events: ["*"], secret: "hush" };
  const { id } = expect(
    await around(first).call("owner", "POST", "/v1/webhooks", hook, { "idempotency-key": "k" }),
    201,
  );
  const rotate = (from: string, to: string) =>
    run(["keys", "rotate-encryption", "--database", database, "--key-file", from, "--new-key-file", to]);
  const beside = rotate(old, fresh);
  assert.match(beside.stderr, /a server or another copy uses it; stop that one first/);
  await first.close();

  const wrong = join(folder, "wrong.key");
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
