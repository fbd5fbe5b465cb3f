import fc from "./fast-check.ts";

/** Whether this is a long run (TEST_LONG=1), which may take several times as long and tries more cases. */
export const isLong = Boolean(process.env["TEST_LONG"]);

/** The number of runs of a property; ten times as many in a long run. */
export const runs = (few: number) => ({ numRuns: isLong ? 10 * few : few });

/** Arbitrary code points, like `fc.string({ unit: "binary" })`, which first fills a table of a million characters. */
export const anyText = (lengths: { readonly maxLength?: number } = {}) =>
  fc.string({
    ...lengths,
    unit: fc.nat(0x10f7ff).map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800)),
  });
