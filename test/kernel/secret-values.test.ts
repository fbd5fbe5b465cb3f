import assert from "node:assert/strict";
import { test } from "node:test";
import { hideValues, redaction } from "../../lib/kernel/secrets/secret-values.ts";
import fc from "../helpers/fast-check.ts";
import { runs } from "../helpers/properties.ts";

/** Like `---a---`, and like the lines around a key. */
const isTitle = (line: string) => /^---+[ab]+---+$/.test(line);

/** Tries every value at every place. */
function hiddenSlowly(values: readonly string[], text: string): string {
  const lines = values.flatMap((value) => value.split(/\r\n|\n|\r/)).map((line) => line.trim());
  const parts = lines.filter((line) => line.length >= 6 && !isTitle(line)).sort((a, b) => b.length - a.length);
  let shown = "";
  for (let at = 0; at < text.length; ) {
    const found = parts.find((part) => text.startsWith(part.slice(0, 64), at));
    shown += found === undefined ? text[at] : redaction;
    at += found?.length ?? 1;
  }
  return shown;
}

/** Values of few characters, which contain, overlap and begin each other; every third is long and repetitive. */
const value = fc
  .tuple(fc.string({ unit: fc.constantFrom("a", "b", "-", "\n", "\ud83d"), maxLength: 12 }), fc.constantFrom(1, 1, 30))
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

test("characters of regular expressions mean nothing, and short values are not looked for", () => {
  const values = ["a.c.d.e", "(x|y)*$", "[zzzz]", "", "$&", "1", "prod"];
  assert.equal(
    hideValues(values)("abc.d.e a.c.d.e (x|y)*$ [zzzz] $& 1 prod end"),
    "abc.d.e [redacted] [redacted] [redacted] $& 1 prod end",
  );
  assert.equal(hideValues([])("text"), "text");
  const hide = hideValues(["prod", "k", ""], 1);
  assert.equal(
    hide("prod ok, producer"),
    "[redacted] o[redacted], [redacted]ucer",
    "where a caller wants it, they are",
  );
  assert.equal(hide("text"), "text");
});

test("the lines of a key are hidden in any indentation, and the log around them stays readable", () => {
  const account = '{\n  "type": "service_account",\n  "key": "-----BEGIN"\n}\n';
  const key = "-----BEGIN PRIVATE KEY-----\r\nMIIEvQIBADANBgkqhkiG9w0\r\n-----END PRIVATE KEY-----";
  const hide = hideValues([account, key]);
  const json = '{"level":"info","port":8080,"worker":1}';
  assert.equal(hide(json), json);
  assert.equal(hide('\t"type": "service_account",'), "\t[redacted]");
  assert.equal(hide("-----BEGIN PRIVATE KEY-----"), "-----BEGIN PRIVATE KEY-----");
  assert.equal(hide("key MIIEvQIBADANBgkqhkiG9w0."), "key [redacted].");
});

test("each place of a line is looked up once for each length, however repetitive the values and the line are", () => {
  let lookups = 0;
  class Counted extends String {
    override slice(start?: number, end?: number) {
      lookups++;
      return super.slice(start, end);
    }
  }
  const lengths = 57;
  const hide = hideValues(Array.from({ length: 200 }, (_, i) => `${"a".repeat(6 + (i % lengths))}b`));
  const line = new Counted("a".repeat(32_000));
  assert.ok(hide(line as unknown as string) === String(line));
  assert.ok(lookups > line.length);
  assert.ok(lookups <= line.length * (1 + lengths) + 1, `${lookups} for ${line.length} characters`);
});

test("an environment full of the longest values hides each of them", () => {
  const values = Array.from({ length: 200 }, (_, i) => `${i} ${"x".repeat(32_768)}`.slice(0, 32_768));
  const shown = hideValues(values)(`first ${values[199]}, then ${values[0]}`);
  assert.ok(shown === `first ${redaction}, then ${redaction}`);
});
