import assert from "node:assert/strict";
import { test } from "node:test";
import { takeTurn } from "../../lib/http/stream-turns.ts";

test("the streams of an organization send 200 entries a turn together, and those of others do not wait", async () => {
  for (let i = 0; i < 200; i++) assert.equal(takeTurn("org_a"), undefined);
  const order: number[] = [];
  const late = Array.from({ length: 300 }, (_, i) => takeTurn("org_a")?.then(() => order.push(i)));
  assert.equal(late.includes(undefined), false);
  assert.equal(takeTurn("org_b"), undefined);
  await late[199];
  assert.equal(order.length, 200);
  await Promise.all(late);
  assert.deepEqual(
    order,
    late.map((_, i) => i),
  );
});
