import assert from "node:assert/strict";
import { test } from "node:test";
import { matchesGlob } from "../../lib/kernel/text/glob.ts";
import fc from "../helpers/fast-check.ts";

/** The definition of a match, one character at a time. */
function means([first, ...pattern]: readonly string[], text: readonly string[]): boolean {
  if (first === undefined) return text.length === 0;
  if (first === "*") return means(pattern, text) || (text.length > 0 && means([first, ...pattern], text.slice(1)));
  return text.length > 0 && (first === "?" || first === text[0]) && means(pattern, text.slice(1));
}

test("a glob matches whole texts", () => {
  const cases: [pattern: string, text: string, fits: boolean][] = [
    ["", "", true],
    ["", "a", false],
    ["*", "", true],
    ["*", "a/b c\n", true],
    ["?", "", false],
    ["?", "🙂", true],
    ["web", "web", true],
    ["web", "webs", false],
    ["web", "Web", false],
    ["/v1/projects/*", "/v1/projects/proj_1", true],
    ["/v1/projects/*", "/v1/projects/proj_1/archive", true],
    ["/v1/projects/*", "/v1/projects", false],
    ["release-?.*", "release-1.20", true],
    ["*broken*", "acme/broken-web", true],
    ["a.c", "abc", false],
    ["[ab]", "a", false],
    ["**a**", "bab", true],
  ];
  for (const [pattern, text, fits] of cases) assert.equal(matchesGlob(pattern, text), fits, `${pattern} on ${text}`);
});

test("it equals its definition, for any pattern and text", () => {
  const letters = (all: string) => fc.string({ unit: fc.constantFrom(...all), maxLength: 8 });
  fc.assert(
    fc.property(letters("ab*?"), letters("ab"), (pattern, text) => {
      assert.equal(matchesGlob(pattern, text), means([...pattern], [...text]));
    }),
  );
});

test("no pattern is slow, not even one on which a regular expression backtracks forever", () => {
  assert.equal(matchesGlob(`${"*a".repeat(200)}*b`, "a".repeat(4000)), false);
});
