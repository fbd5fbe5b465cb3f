import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hideValues, redaction } from "../../lib/kernel/secret-values.ts";
import { runs } from "../helpers/properties.ts";

/** Tries every value at every place. */
function hiddenSlowly(values: readonly string[], text: string): string {
  const parts = values.flatMap((value) => value.split(/\r\n|\n|\r/)).filter((part) => part !== "");
  parts.sort((a, b) => b.length - a.length);
  let shown = "";
  for (let at = 0; at < text.length; ) {
    const found = parts.find((part) => text.startsWith(part, at));
    shown += found === undefined ? text[at] : redaction;
    at += found?.length ?? 1;
  }
  return shown;
}

/** Values of few characters, which contain, overlap and begin each other; every third is long and repetitive. */
const value = fc
  .tuple(fc.string({ unit: fc.constantFrom("a", "b", "-", "\n", "\ud83d"), maxLength: 8 }), fc.constantFrom(1, 1, 30))
  .map(([text, times]) => text.repeat(times));
const fillers = Array.from({ length: 300 }, (_, i) => `filler ${i}`);

test("the longest value at each place is hidden, however long and however many the values are", () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 12 }), fc.array(value, { maxLength: 12 }), (values, between) => {
      const text = [...between, ...values, ...between.toReversed()].join("");
      const expected = hiddenSlowly(values, text);
      assert.equal(hideValues(values)(text), expected);
      assert.equal(hideValues([...values, ...fillers])(text), expected);
    }),
    runs(500),
  );
});

test("characters of regular expressions mean nothing, and no text is searched for the empty value", () => {
  const values = ["a.c", "(x|y)*", "[z]", "", "$&"];
  assert.equal(
    hideValues(values)("abc a.c (x|y)* [z] z $& end"),
    "abc [redacted] [redacted] [redacted] z [redacted] end",
  );
  assert.equal(hideValues([])("text"), "text");
});

test("long and repetitive values take little of the processor in lines of the same character", () => {
  const hide = hideValues(Array.from({ length: 25 }, (_, i) => `${"a".repeat(15_900 + i)}b`));
  const line = "a".repeat(32_000);
  const before = process.cpuUsage();
  for (let i = 0; i < 60; i++) assert.ok(hide(line) === line);
  assert.ok(hide(`${line}b`) === `${"a".repeat(32_000 - 15_924)}${redaction}`);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 1_500_000, `${(user + system) / 1_000_000} s`);
});

test("an environment full of the longest values hides each of them", () => {
  const values = Array.from({ length: 200 }, (_, i) => `${i} ${"x".repeat(32_768)}`.slice(0, 32_768));
  const shown = hideValues(values)(`first ${values[199]}, then ${values[0]}`);
  assert.ok(shown === `first ${redaction}, then ${redaction}`);
});

test("the same values have the same function, in a new list too", () => {
  const values = (last: string) => [...Array.from({ length: 3_000 }, (_, i) => `line-${i}-of-a-secret`), last];
  const [one, other] = [hideValues(values("a")), hideValues(values("b"))];
  assert.equal(hideValues(values("a")), one);
  assert.equal(hideValues(values("b")), other);
  assert.equal(one("line-7-of-a-secret, b"), "[redacted], b");
  // A list of one value is not the list of its parts.
  assert.notEqual(hideValues([values("a").join("\n")]), one);
  for (const last of ["c", "d", "e", "f"]) hideValues(values(last));
  assert.notEqual(hideValues(values("a")), one, "few are kept");
});
