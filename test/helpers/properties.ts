import fc from "fast-check";

/** Whether a run with TEST_LONG=1 in its environment may take several times as long, to try more. */
export const isLong = Boolean(process.env["TEST_LONG"]);

/** How often a property is tried; ten times as often in a long run. */
export const runs = (few: number) => ({ numRuns: isLong ? 10 * few : few });

/** Any code points, like `fc.string({ unit: "binary" })`, which fills a table of a million characters first. */
export const anyText = (lengths: { readonly maxLength?: number } = {}) =>
  fc.string({
    ...lengths,
    unit: fc.nat(0x10f7ff).map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800)),
  });
