import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClock, latestInstant } from "../../lib/kernel/clock.ts";
import { createIds, type Ids } from "../../lib/kernel/ids.ts";
import { createRandom, type Random } from "../../lib/kernel/random.ts";
import fc from "../helpers/fast-check.ts";

describe("snapshots of clock, identifiers and random numbers", () => {
  test("a snapshot of a clock restores its mode and time", () => {
    const clock = createClock("manual@2026-01-01T00:00:00Z");
    const kept = clock.save();
    clock.moveTo(latestInstant);
    clock.load(kept);
    assert.equal(clock.iso(), "2026-01-01T00:00:00.000Z");
    const ran = createClock("real");
    ran.load(kept);
    assert.equal(ran.mode, "manual");
    assert.equal(ran.iso(), clock.iso());
  });

  test("a snapshot of identifiers and random numbers repeats them, in a copy too", () => {
    const clock = createClock("manual@2026-01-01T00:00:00Z");
    const made = (random: Random, ids: Ids) => [ids.next("proj"), random.alphanumeric(40), ids.next("dep")];
    fc.assert(
      fc.property(fc.string(), fc.array(fc.boolean(), { maxLength: 30 }), (seed, before) => {
        const random = createRandom(seed);
        const ids = createIds(clock, random);
        for (const id of before) id ? ids.next("proj") : random.bytes(5);
        const [keptIds, keptRandom] = [ids.save(), random.save()];
        const first = made(random, ids);
        ids.load(keptIds);
        random.load(keptRandom);
        assert.deepEqual(made(random, ids), first);
        const copy = createRandom();
        copy.load(keptRandom);
        const copied = createIds(clock, copy);
        copied.load(keptIds);
        assert.deepEqual(made(copy, copied), first);
      }),
    );
  });

  test("the machine's own chance is another one in a copy", () => {
    const one = createRandom();
    one.bytes(1);
    const copy = createRandom();
    copy.load(one.save());
    assert.notDeepEqual(copy.bytes(32), one.bytes(32));
  });
});
