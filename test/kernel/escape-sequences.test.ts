import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutEscapeSequences } from "../../lib/kernel/text/escape-sequences.ts";
import fc from "../helpers/fast-check.ts";

const esc = "\u001b";
const cases: readonly (readonly [text: string, left: string])[] = [
  [`${esc}[32m✓${esc}[0m`, "✓"],
  [`${esc}[38:2:255:0:0mred${esc}[m`, "red"],
  [`${esc}[?25l${esc}[>4;2m${esc}[1;3~${esc}[2 qtext`, "text"],
  ["\u009b31mred\u009b0m", "red"],
  [`cut ${esc}[38;5`, "cut "],
  [`${esc}]0;a title, with spaces\u0007text`, "text"],
  [`${esc}]8;;https://a.example/?q=1${esc}\\link${esc}]8;;${esc}\\`, "link"],
  ["\u009d0;title\u0007one \u009d0;title\u009ctwo", "one two"],
  [`${esc}P1$r0m${esc}\\text`, "text"],
  ["\u0090q#0;2;0;0;0\u009ctext", "text"],
  [`${esc}_apc${esc}\\${esc}^pm${esc}\\${esc}Xsos${esc}\\text`, "text"],
  [`${esc}Ptmux;${esc}${esc}]0;title\u0007${esc}\\text`, `${esc}text`],
  // The next sequence ends an unterminated string.
  [`${esc}]0;title${esc}[31mred`, "red"],
  // An unterminated string stays: the rest may be the log's own text.
  [`${esc}]all of this stays`, "all of this stays"],
  [`${esc}(B${esc}7${esc}c${esc}#8${esc}=text`, "text"],
  ["[32m is text", "[32m is text"],
];

test("escape sequences are removed whole", () => {
  for (const [text, left] of cases) assert.equal(withoutEscapeSequences(text), left, JSON.stringify(text));
});

test("text between escape sequences stays as it is", () => {
  const plain = fc.string({ unit: "grapheme" }).map((text) => text.replace(/\p{Cc}/gu, ""));
  const printable = fc.string({ unit: fc.constantFrom(..."abc019;:?#$[]()\\ ~") });
  const parameters = fc.string({ unit: fc.constantFrom(..."0123456789:;<=>?") });
  const intermediates = fc.string({ unit: fc.constantFrom(..." !#$/"), maxLength: 2 });
  const csi = fc
    .tuple(fc.constantFrom(`${esc}[`, "\u009b"), parameters, intermediates, fc.constantFrom(..."@Kmqz~"))
    .map((parts) => parts.join(""));
  const string = fc
    .tuple(
      fc.constantFrom(...[..."]PX^_"].map((one) => esc + one), "\u0090", "\u0098", "\u009d", "\u009e", "\u009f"),
      printable,
      fc.constantFrom("\u0007", `${esc}\\`, "\u009c"),
    )
    .map((parts) => parts.join(""));
  const short = fc.constantFrom(`${esc}(B`, `${esc}7`, `${esc}c`, `${esc}#8`);
  fc.assert(
    fc.property(fc.array(fc.tuple(plain, fc.oneof(csi, string, short))), (parts) => {
      const text = parts.map((part) => part.join("")).join("");
      assert.equal(withoutEscapeSequences(text), parts.map(([one]) => one).join(""));
    }),
  );
});

test("a long text takes linear time, whatever it begins and does not end", () => {
  for (const part of [`${esc}]`, `${esc}]0;`, `${esc}[`, `${esc}[0;0 `, esc, "\u009d", `${esc}]${"a".repeat(99)}`]) {
    const text = part.repeat(1_000_000 / part.length);
    assert.ok(withoutEscapeSequences(text).length <= text.length);
    assert.equal(withoutEscapeSequences(`${part}${"0".repeat(1_000_000)}`).includes("\u009b"), false);
  }
});
