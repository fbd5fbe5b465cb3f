import assert from "node:assert/strict";
import { test } from "node:test";
import { createPasswordHashes } from "../../lib/kernel/secrets/password-hash.ts";

test("one organization's passwords do not hold up another's", async () => {
  const { hashPassword, isPassword } = createPasswordHashes();
  const order: string[] = [];
  const hash = async (by: string) => {
    const stored = await hashPassword("secret", by);
    order.push(by);
    return stored;
  };
  const [stored = ""] = await Promise.all(["a", "a", "a", "a", "b", "b"].map(hash));
  assert.deepEqual(order, ["a", "a", "b", "a", "b", "a"]);
  assert.deepEqual([await isPassword(stored, "secret"), await isPassword(stored, "Secret")], [true, false]);
});
