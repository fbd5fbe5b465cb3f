import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Clock, createClock, isoOf, latestInstant, parseInstant } from "../../lib/kernel/clock.ts";
import { createIds } from "../../lib/kernel/ids.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { foldCase } from "../../lib/kernel/text/case-folding.ts";
import { formatDuration, milliseconds, parseDuration } from "../../lib/kernel/text/duration.ts";
import fc from "../helpers/fast-check.ts";

describe("durations", () => {
  test("a formatted duration parses to the same number", () => {
    fc.assert(fc.property(fc.maxSafeNat(), (ms) => assert.equal(parseDuration(formatDuration(ms)), ms)));
  });

  test("several in a row are added, in every unit", () => {
    const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
    const part = fc.tuple(fc.nat(9_999), fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])));
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
        const text = parts.map(([count, unit]) => `${count}${unit}`).join("");
        assert.equal(
          parseDuration(text),
          parts.reduce((sum, [count, unit]) => sum + count * units[unit], 0),
        );
      }),
    );
    assert.equal(parseDuration("2h42m30s"), 9_750_000);
    assert.equal(parseDuration("0.5s"), 500);
    assert.equal(formatDuration(9_750_000), "2h42m30s");
    assert.equal(formatDuration(0), "0s");
  });

  test("any other text is not a duration", () => {
    const wrong = ["", "30", "s", "-1s", "+1s", "1 s", " 1s", "1s ", "1S", "1e3s", ".5s", "1.s", "٣s", "1s,2s", "1w"];
    for (const text of [...wrong, `${"9".repeat(13)}s`, "999999999999d", "1s".repeat(33), "1s\n"]) {
      assert.equal(parseDuration(text), undefined, JSON.stringify(text));
      assert.throws(() => milliseconds(text), /is not a duration such as/);
    }
    const grammar = /^(\d{1,12}(\.\d{1,6})?(ms|[smhd]))+$/;
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."0159.smhd -e\n") }), (text) => {
        if (!grammar.test(text) || text.length > 64) assert.equal(parseDuration(text), undefined);
      }),
    );
  });
});

describe("instants", () => {
  test("a formatted instant parses to the same number", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: latestInstant }), (at) => assert.equal(parseInstant(isoOf(at)), at)),
    );
  });

  test("zones and fractions of a second count", () => {
    assert.equal(parseInstant("2026-01-01T01:30:00+01:30"), Date.UTC(2026, 0, 1));
    assert.equal(parseInstant("2025-12-31T19:00-05:00"), Date.UTC(2026, 0, 1));
    assert.equal(parseInstant("2026-01-01T00:00:00.5Z"), Date.UTC(2026, 0, 1) + 500);
  });

  test("a date that does not exist is refused, and so is every other form", () => {
    for (const year of [1900, 2000, 2023, 2024, 2100])
      for (let month = 1; month <= 12; month++)
        for (let day = 1; day <= 31; day++) {
          const at = Date.UTC(year, month - 1, day);
          const text = `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}T12:00:00Z`;
          assert.equal(parseInstant(text) !== undefined, new Date(at).getUTCDate() === day, text);
        }
    const wrong = ["", "2026", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T25:00:00Z"];
    const worse = ["2026-00-10T00:00:00Z", "2026-01-01T00:60:00Z", "1767225600000", "2026-01-01T00:00:00z", "now"];
    for (const text of [...wrong, ...worse]) assert.equal(parseInstant(text), undefined, text);
  });

  test("every parsed instant has a year of four digits when formatted, so that text sorts like time", () => {
    for (const text of ["9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00", "2026-01-01T00:00:00Z"]) {
      const at = parseInstant(text);
      assert.equal(at === undefined ? 24 : isoOf(at).length, 24, text);
    }
  });

  test("a manual clock stops until it is moved, and never goes back", () => {
    const clock = createClock("manual@2026-01-01T00:00:00Z");
    assert.equal(clock.iso(), "2026-01-01T00:00:00.000Z");
    assert.equal(clock.until(latestInstant), undefined);
    clock.moveTo(clock.now() + 1);
    assert.equal(clock.iso(), "2026-01-01T00:00:00.001Z");
    assert.throws(() => clock.moveTo(clock.now() - 1), /never goes back/);
    assert.equal(createClock("manual@2026-01-01T00:00:00Z", latestInstant).now(), latestInstant);
  });

  test("a frozen clock stops and can be moved", () => {
    for (const setting of ["real", "60x"]) {
      const clock = createClock(setting);
      assert.throws(() => clock.moveTo(latestInstant), /runs by itself/);
      clock.freeze();
      assert.equal(clock.mode, "manual");
      assert.equal(clock.until(latestInstant), undefined);
      clock.moveTo(latestInstant);
      assert.equal(clock.now(), latestInstant);
    }
  });
});

/** A clock whose time the test sets. */
const shows = (now: () => number): Clock => ({ ...createClock("real"), now });

describe("identifiers", () => {
  const ulid = /^proj_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

  test("they are unique and sorted, within a millisecond and when the system time steps back", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: latestInstant }), { minLength: 2, maxLength: 60 }), (times) => {
        let at = 0;
        const ids = createIds(
          shows(() => at),
          createRandom("ids"),
        );
        const made = times.flatMap((time) => {
          at = time;
          return [ids.next("proj"), ids.next("proj"), ids.next("proj")];
        });
        assert.equal(new Set(made).size, made.length);
        assert.deepEqual(made, made.toSorted());
        for (const id of made) assert.match(id, ulid);
      }),
    );
  });

  test("generators that follow each other in one millisecond never make the same identifier", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2), fc.nat(2), fc.nat(40)), { maxLength: 60 }), (steps) => {
        const processes = ["a", "b", "c"].map((seed) =>
          createIds(
            shows(() => 0),
            createRandom(seed),
          ),
        );
        const made: string[] = [];
        const newest = ["", "", ""];
        for (const [process, organization, count] of steps) {
          const ids = processes[process];
          if (newest[organization]) ids?.follow(newest[organization]);
          for (let i = 0; i <= count; i++) {
            const id = ids?.next("evt") ?? "";
            assert.ok(id > (newest[organization] ?? ""), "an organization's identifiers are in order");
            newest[organization] = id;
            made.push(id);
          }
        }
        assert.equal(new Set(made).size, made.length);
      }),
    );
  });

  test("a hundred thousand in one millisecond are in order, and all contain that millisecond", () => {
    const ids = createIds(
      shows(() => Date.UTC(2026, 0, 1)),
      createRandom("busy"),
    );
    let last = ids.next("proj");
    for (let i = 0; i < 100_000; i++) {
      const id = ids.next("proj");
      assert.ok(id > last);
      last = id;
    }
    const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    const time = [...last.slice(5, 15)].reduce((sum, digit) => sum * 32 + digits.indexOf(digit), 0);
    assert.equal(time, Date.UTC(2026, 0, 1));
  });

  test("a time before 1970, which no identifier can hold, is refused", () => {
    assert.throws(() => createClock("manual@1969-12-31T23:59:59Z"), /1970/);
  });

  test("counting up carries over every digit", () => {
    const full = { ...createRandom("x"), bytes: (length: number) => Buffer.alloc(length, 255) };
    const ids = createIds(
      shows(() => 0),
      full,
    );
    assert.equal(ids.next("dep"), "dep_0000000000FZZZZZZZZZZZZZZZ");
    assert.equal(ids.next("dep"), "dep_0000000000G000000000000000");
  });
});

describe("randomness", () => {
  test("the same seed gives the same bytes, however they are drawn; another seed gives others", () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.nat(70)), (seed, lengths) => {
        const random = createRandom(seed);
        const drawn = Buffer.concat(lengths.map((length) => random.bytes(length)));
        assert.deepEqual(drawn, Buffer.from(createRandom(seed).bytes(drawn.length)));
      }),
    );
    assert.notDeepEqual(createRandom("a").bytes(16), createRandom("b").bytes(16));
    assert.notDeepEqual(createRandom().bytes(16), createRandom().bytes(16));
  });

  test("alphanumeric text is base62, each character equally likely", () => {
    const count = 62 * 2_000;
    const text = createRandom("letters").alphanumeric(count);
    assert.match(text, /^[0-9A-Za-z]+$/);
    assert.equal(text.length, count);
    const seen = new Map<string, number>();
    for (const letter of text) seen.set(letter, (seen.get(letter) ?? 0) + 1);
    assert.equal(seen.size, 62);
    const chiSquare = [...seen.values()].reduce((sum, n) => sum + (n - 2_000) ** 2 / 2_000, 0);
    // 61 degrees of freedom: 117 would come once in 50,000 fair draws; a byte modulo 62 gives about 900.
    assert.ok(chiSquare < 117, String(chiSquare));
  });

  test("a fraction is at least 0 and less than 1", () => {
    const random = createRandom("fraction");
    for (let i = 0; i < 10_000; i++) {
      const one = random.fraction();
      assert.ok(one >= 0 && one < 1);
    }
  });
});

describe("case folding", () => {
  test("upper, lower and composed forms of every Unicode letter are equal", () => {
    const apart: string[] = [];
    for (let point = 0; point <= 0x10ffff; point++) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const letter = String.fromCodePoint(point);
      const same = foldCase(letter);
      const forms = [letter.toUpperCase(), letter.toLowerCase(), letter.normalize("NFD"), same];
      if (forms.some((form) => form !== letter && foldCase(form) !== same)) apart.push(letter);
    }
    assert.deepEqual(apart, []);
  });

  test("words are equal in any case, other words are not", () => {
    assert.equal(foldCase("STRASSE Ä"), foldCase("straße a\u0308"));
    assert.equal(foldCase("ΌΣΟΣ"), foldCase("όσος"));
    assert.equal(foldCase("GROẞ"), foldCase("groß"));
    assert.notEqual(foldCase("resume"), foldCase("résumé"));
  });
});
