import fc from "fast-check";

/** How often a property is tried; with TEST_LONG=1 in the environment ten times as often. */
export const runs = (few: number) => ({ numRuns: process.env["TEST_LONG"] ? 10 * few : few });

/** Any code points, like `fc.string({ unit: "binary" })`, which fills a table of a million characters first. */
export const anyText = (lengths: { readonly maxLength?: number } = {}) =>
  fc.string({
    ...lengths,
    unit: fc.nat(0x10f7ff).map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800)),
  });
