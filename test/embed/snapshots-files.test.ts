import assert from "node:assert/strict";
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { deploymentNow } from "../helpers/deployments.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, forked, type World, world } from "../helpers/test-service.ts";

const rows = async (here: World) => expect(await here.call("owner", "GET", "/v1/projects"), 200).data;

/** A world in a file, with a project, a running deployment and a webhook whose secret is encrypted. */
async function inFile(t: TestContext) {
  const database = join(folderOf(t), "svc.db");
  const here = await world(t, { database });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  const secret = { url: "https://hook.inbox.test/", events: ["*"], secret: "hush" };
  expect(await here.call("owner", "POST", "/v1/webhooks", secret), 201);
  return { database, here, deployment };
}

test("a state in a file is brought back, and the next start finds it", withSnapshots, async (t) => {
  const { database, here, deployment } = await inFile(t);
  const before = await rows(here);
  const kept = await here.service.snapshot();
  await here.service.clock.advance("1h");
  await here.project("gone");
  assert.equal(expect(await here.call("owner", "DELETE", `/v1/projects/${before[0].id}`), 204), undefined);
  assert.deepEqual(await here.service.restore(kept.id), kept);
  assert.deepEqual(await rows(here), before);
  assert.equal((await deploymentNow(here, deployment.id)).status, "queued");
  await here.service.close();
  const next = await world(t, { database, clock: "manual" });
  assert.equal(next.service.clock.now().toISOString(), kept.now);
  assert.deepEqual(await rows(next), before);
  await next.service.clock.advance("1h");
  assert.equal((await deploymentNow(next, deployment.id)).status, "active");
  assert.match(next.service.inbox.list().at(-1)?.headers["x-service-signature"] ?? "", /^sha256=/);
});

test("a snapshot holds no file that is being written, nor one that vanishes meanwhile", withSnapshots, async (t) => {
  const { database, here } = await inFile(t);
  const files = `${database}-files`;
  mkdirSync(files);
  const half = join(files, `gen_${"0".repeat(26)}.half`);
  writeFileSync(half, "half");
  // A file that is listed but missing, as if a job had removed it in between.
  symlinkSync(join(files, "nothing"), join(files, `gen_${"1".repeat(26)}`));
  const { id } = await here.service.snapshot();
  rmSync(half);
  await here.service.restore(id);
  assert.deepEqual(readdirSync(files), []);
});

test("a fork of a file is in memory, and leaves the file alone", withSnapshots, async (t) => {
  const { here, deployment } = await inFile(t);
  const fork = await forked(t, here);
  const kept = await fork.service.snapshot();
  await fork.service.clock.advance("1h");
  await fork.service.restore(kept.id);
  await fork.service.clock.advance("1h");
  await fork.project("of-the-fork");
  assert.equal((await deploymentNow(fork, deployment.id)).status, "active");
  assert.equal((await deploymentNow(here, deployment.id)).status, "queued");
  assert.equal((await rows(here)).length, 1);
  await here.service.close();
  assert.equal((await rows(fork)).length, 2);
});

test("a fork has all changes since the last fork, from any connection", withSnapshots, async (t) => {
  const { database, here } = await inFile(t);
  const names = async () => (await rows(await forked(t, here))).map(({ name }: { name: string }) => name);
  assert.deepEqual([await names(), await names()], [["web"], ["web"]]);
  await here.project("next");
  assert.deepEqual(await names(), ["next", "web"]);
  const beside = new Database(database);
  beside.prepare("update projects set name = 'renamed' where name = 'next'").run();
  beside.close();
  assert.deepEqual(await names(), ["renamed", "web"]);
});

test("reset goes back to a large file too, and says where one is too large to be kept", withSnapshots, async (t) => {
  const { database, here } = await inFile(t);
  await here.service.close();
  const beside = new Database(database);
  beside.prepare("insert into settings values ('large', ?)").run("x".repeat(65 * 1024 * 1024));
  beside.pragma("wal_checkpoint(TRUNCATE)");
  beside.close();
  const next = await world(t, { database, clock: "manual" });
  await next.project("goes");
  expect(await next.call("nobody", "POST", "/_svc/reset"), 200);
  assert.equal((await rows(next)).length, 1);
  await next.service.close();

  // Extends the file with empty pages in a hole: more than 1 GiB that takes no disk space.
  const file = openSync(database, "r+");
  const pages = Buffer.alloc(4);
  pages.writeUInt32BE(300_000);
  writeSync(file, pages, 0, 4, 28);
  ftruncateSync(file, 300_000 * 4096);
  closeSync(file);
  const vast = await world(t, { database, clock: "manual" });
  const refused = expect(await vast.call("nobody", "POST", "/_svc/reset"), 409);
  assert.match(refused.error.message, /more than 1 GiB at the start.*take a snapshot/);
  assert.equal((await rows(vast)).length, 1);
});

test("reset in a file that was there before goes back to what this start found", withSnapshots, async (t) => {
  const { database, here } = await inFile(t);
  await here.service.close();
  const next = await world(t, { database, clock: "manual" });
  const found = await rows(next);
  await next.project("gone");
  await next.service.reset();
  assert.deepEqual(await rows(next), found);
});
