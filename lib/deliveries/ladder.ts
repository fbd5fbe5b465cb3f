import { milliseconds } from "../kernel/duration.ts";

/** SPEC "Delivery rules": "30 seconds, 2 minutes, 10 minutes, 30 minutes and 2 hours". */
const steps = ["30s", "2m", "10m", "30m", "2h"].map(milliseconds);

/**
 * How long to wait after the failed try of this rung, which counts from 1; undefined after the sixth, when the delivery
 * is abandoned. `late` lengthens a delay, from 0 to 0.1, so that endpoints that failed together do not come back together.
 */
export function delayAfter(rung: number, late: number): number | undefined {
  const step = steps[rung - 1];
  return step === undefined ? undefined : Math.round(step * (1 + late));
}

/** How many tries a ladder has. */
export const rungs = steps.length + 1;
