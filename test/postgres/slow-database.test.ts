import assert from "node:assert/strict";
import { test } from "node:test";
import { yieldToEventLoop } from "../../lib/kernel/node/event-loop.ts";
import { createTestService } from "../../lib/testing.ts";
import { deployer, secondsOf } from "../helpers/coupled.ts";
import { emptyDatabase } from "./databases.ts";
import { between } from "./network.ts";
import { encryptionKey } from "./several.ts";

test("the clock stands while a call in process waits for a slow database", { timeout: 60_000 }, async (t) => {
  const { url } = await emptyDatabase(t);
  const network = await between(t, url, async (data) => {
    for (let turns = 0; turns < 5_000 && data.includes("active"); turns++) await yieldToEventLoop();
    return data;
  });
  const service = await createTestService(t, { database: network.url, encryptionKey });
  const deploy = await deployer(service);
  const { id } = await deploy();
  const waiting = service.client().deployments.waitUntilDone(id);
  const done = waiting.then(({ status }) => `${status} at ${secondsOf(service)}`);
  assert.equal(await service.clock.advanceUntil(done), "active at 6");
});
