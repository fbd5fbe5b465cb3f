import assert from "node:assert/strict";
import { test } from "node:test";
import { createDataSizes } from "../../lib/platform/apps/data-sizes.ts";
import { mockTime } from "../helpers/mock-time.ts";

test("A look at the data of all apps that takes minutes is not joined by a second one", async (t) => {
  mockTime(t, { apis: ["setTimeout"] });
  let looks = 0;
  let finish = () => {};
  const live = () => {
    looks += 1;
    return new Promise((resolve) => {
      finish = () => resolve([]);
    });
  };
  const ports = {
    store: { using: () => () => ({ live }) },
    runtime: { dataBytes: () => 0 },
    placement: { isHere: () => true },
  };
  const sizes = createDataSizes(ports as unknown as Parameters<typeof createDataSizes>[0]);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  sizes.begin();
  for (const passed of [60_000, 60_000]) {
    t.mock.timers.tick(passed);
    await turn();
    assert.equal(looks, 1);
  }
  finish();
  await turn();
  t.mock.timers.tick(60_000);
  await turn();
  assert.equal(looks, 2);
  sizes.end();
});
