import assert from "node:assert/strict";
import { readdirSync, readlinkSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import type { GenerationDriver } from "../../lib/drivers/generation/contract.ts";
import { mockTime } from "../helpers/mock-time.ts";
import { finishedGeneration, sharedPainter } from "../helpers/painter.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { world } from "../helpers/test-service.ts";

const painter = sharedPainter();

/** Paints files of 16 MB: more than sockets hold for a client that does not read. */
function large(): GenerationDriver {
  const driver = painter();
  const enlarged = (answer: Awaited<ReturnType<GenerationDriver["poll"]>>) =>
    answer.state === "done" ? { ...answer, bytes: Buffer.concat([answer.bytes, Buffer.alloc(16e6)]) } : answer;
  return {
    ...driver,
    submit: async (work) => enlarged(await driver.submit(work)),
    poll: async (work, handle) => enlarged(await driver.poll(work, handle)),
  };
}

const openFiles = (folder: string) =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
    } catch {
      return false;
    }
  }).length;

test("a client that reads nothing of a large file for two minutes is dropped, and the file is closed", {
  skip: process.platform !== "linux" && "it reads /proc",
}, async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const here = await world(t, { database, generations: { driver: large() } });
  const { output } = await finishedGeneration(here);
  const { port } = await here.service.listen({ port: 0 });
  const open = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const { pathname, search } = new URL(output.url);
      get({ port, path: pathname + search, agent: false }, resolve).on("error", reject);
    });
  const whole = await (await open()).toArray();
  assert.ok(Buffer.concat(whole).length > 16e6);
  mockTime(t, { apis: ["setTimeout"] });
  const stalled = await open();
  const files = `${database}-files`;
  assert.equal(openFiles(files), 1);
  for (let i = 0; i < 10_000 && openFiles(files) > 0; i++) {
    t.mock.timers.tick(30_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(openFiles(files), 0);
  await assert.rejects(stalled.toArray(), /aborted/);
});
