import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { GenerationDriver } from "../../lib/index.ts";
import { createGeneration } from "../helpers/painter.ts";
import { cannotMount, smallDisk } from "../helpers/small-disk.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { expect, world } from "../helpers/test-service.ts";

const megabyte = 1024 * 1024;
const picture = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(4 * megabyte, 7)]);

/** A service whose backend answers a large picture after two seconds, and the list of requests to that backend. */
async function pictures(t: TestContext, database: string) {
  const asked: string[] = [];
  const driver: GenerationDriver = {
    delay: () => 2_000,
    async submit({ generation_id }) {
      asked.push(generation_id);
      return { state: "done", bytes: picture, cost_usd: 1 };
    },
    poll: async () => ({ state: "failed", message: "is never asked" }),
    cancel: async () => {},
  };
  const lines: string[] = [];
  const note = (message: string, fields = {}) => lines.push(`${message} ${JSON.stringify(fields)}`);
  const logger = { error: note, warn: note, info: () => {}, debug: () => {} };
  const here = await world(t, { database, generations: { driver }, logger });
  const get = async (id: string) => expect(await here.call("owner", "GET", `/v1/generations/${id}`), 200);
  return { here, asked, lines, get };
}

test("A picture that finds the disk full is stored once there is room, whole, and is not paid for again", async (t) => {
  const disk = smallDisk(t);
  if (!disk) return t.skip(cannotMount);
  const { here, asked, lines, get } = await pictures(t, disk.database);
  const { id } = await createGeneration(here);
  disk.fill(20);
  await here.service.clock.advance("5s");
  assert.equal((await get(id)).status, "in_progress");
  assert.deepEqual(readdirSync(`${disk.database}-files`), [], "nothing half-written stays");
  await here.service.clock.advance("30s");
  assert.equal((await get(id)).status, "in_progress");
  disk.clear();
  await here.service.clock.advance("10s");
  const { status, output, usage } = await get(id);
  assert.deepEqual([status, usage.cost_usd, asked], ["completed", 1, [id]]);
  const file = await here.service.fetch(output.url);
  assert.ok(picture.equals(Buffer.from(await file.arrayBuffer())));
  assert.equal(lines.length, 1, lines.join("\n"));
  assert.match(lines[0] ?? "", /the file of a generation could not be stored .*the disk is full; free space/);
});

test("A generation whose file meets an I/O error fails with that reason, and nothing is served", async (t) => {
  // Reading it fails: no process has memory at address 0.
  const broken = "/proc/self/mem";
  if (!existsSync(broken)) return t.skip("this system has no file that fails");
  const database = join(folderOf(t), "svc.db");
  const { here, get } = await pictures(t, database);
  const { id } = await createGeneration(here);
  mkdirSync(`${database}-files`);
  symlinkSync(broken, join(`${database}-files`, `${id}.half`));
  await here.service.clock.advance("3s");
  const { status, error, output } = await get(id);
  assert.deepEqual([status, output], ["failed", undefined]);
  assert.deepEqual(error, {
    code: "generation_failed",
    message: "the file could not be stored: the disk fails with I/O errors",
  });
  assert.deepEqual(readdirSync(`${database}-files`), []);
});
