import assert from "node:assert/strict";
import { test } from "node:test";
import { memoize } from "../../lib/drivers/outbound/memoize.ts";
import fc from "../helpers/fast-check.ts";

test("results are remembered, undefined too, up to the capacity", () => {
  const few = fc.constantFrom("", "a", "b", "c", "d", "__proto__");
  fc.assert(
    fc.property(fc.array(few), fc.integer({ min: 1, max: 6 }), (texts, capacity) => {
      const result = (text: string) => (text === "a" ? undefined : `${text}!`);
      let remembered = new Set<string>();
      const computed: string[] = [];
      const work = memoize((text) => {
        assert.ok(!remembered.has(text), `${text} was computed twice`);
        if (remembered.size >= capacity) remembered = new Set();
        remembered.add(text);
        computed.push(text);
        return result(text);
      }, capacity);
      for (const text of texts) assert.equal(work(text), result(text));
      assert.ok(new Set(texts).size > capacity || computed.length === new Set(texts).size);
    }),
  );
});
