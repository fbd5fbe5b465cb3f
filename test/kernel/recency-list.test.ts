import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createRecencyList } from "../../lib/kernel/recency-list.ts";

test("a list of entries by their last use is like an array in which each use moves its value to the end", () => {
  const step = fc.record({ kind: fc.constantFrom("use", "remove", "find"), at: fc.nat(4) });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const list = createRecencyList<number>();
      const entries = Array.from({ length: 5 }, (_, value) => list.entry(value));
      let model: number[] = [];
      for (const { kind, at } of steps) {
        const [entry] = entries.slice(at);
        assert.ok(entry);
        if (kind !== "find") model = model.filter((one) => one !== at);
        if (kind === "use") {
          list.use(entry);
          model.push(at);
        } else if (kind === "remove") list.remove(entry);
        const seen: number[] = [];
        assert.equal(
          list.find((value) => !seen.push(value)),
          undefined,
        );
        assert.deepEqual(seen, model);
        assert.equal(
          list.find((value) => value >= at),
          model.find((value) => value >= at),
        );
      }
    }),
  );
});
