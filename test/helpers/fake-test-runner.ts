import type { Test } from "../../lib/testing.ts";

/** A fake test runner that collects the functions to run at the end of a test. */
export function runner(hook: "after" | "onTestFinished") {
  const ends: (() => Promise<void>)[] = [];
  const t = { [hook]: (end: () => Promise<void>) => void ends.push(end) } as unknown as Test;
  return { t, end: async () => Promise.all(ends.map((end) => end())) };
}
