import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { memoize } from "../../lib/drivers/outbound/memoize.ts";

test("what is remembered is what was answered, undefined too, and no more than so many", () => {
  const few = fc.constantFrom("", "a", "b", "c", "d", "__proto__");
  fc.assert(
    fc.property(fc.array(few), fc.integer({ min: 1, max: 6 }), (texts, most) => {
      const answer = (text: string) => (text === "a" ? undefined : `${text}!`);
      let kept = new Set<string>();
      const asked: string[] = [];
      const work = memoize((text) => {
        assert.ok(!kept.has(text), `${text} was asked for twice`);
        if (kept.size >= most) kept = new Set();
        kept.add(text);
        asked.push(text);
        return answer(text);
      }, most);
      for (const text of texts) assert.equal(work(text), answer(text));
      assert.ok(new Set(texts).size > most || asked.length === new Set(texts).size);
    }),
  );
});
