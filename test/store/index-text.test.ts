import assert from "node:assert/strict";
import { test } from "node:test";
import { indexText } from "../../lib/store/index-text.ts";
import { expect, world } from "../helpers/test-service.ts";

test("a caller's text is an indexed value as it is, and by its hash beyond a thousand characters", () => {
  assert.equal(indexText("x".repeat(1_000)), "x".repeat(1_000));
  assert.match(indexText("x".repeat(1_001)), /^sha256 [\w-]{43}$/);
  assert.notEqual(indexText("x".repeat(1_001)), indexText("x".repeat(1_002)));
});

test("an idempotency key replays at the longest path, and at no other path", async (t) => {
  const { call } = await world(t);
  const path = (end: string) => `/v1/deployments/${"x".repeat(8_000)}${end}/cancel`;
  const post = (end: string) => call("owner", "POST", path(end), undefined, { "idempotency-key": "one" });
  expect(await post("a"), 404);
  assert.equal((await post("a")).headers.get("idempotent-replayed"), "true");
  assert.equal((await post("b")).headers.get("idempotent-replayed"), null);
});
