import { milliseconds } from "../kernel/duration.ts";

/** SPEC "Delivery rules": "30 seconds, 2 minutes, 10 minutes, 30 minutes and 2 hours". */
const steps = ["30s", "2m", "10m", "30m", "2h"].map(milliseconds);

/** What may lengthen a delay of the ladder. */
export interface Lengthening {
  /** From 0 to 0.1, so that endpoints that failed together do not come back together. */
  readonly late: number;
  /** What the receiver asked for, where that is honoured. */
  readonly asked_ms?: number | undefined;
}

/**
 * How long to wait after the failed try of this rung, which counts from 1; undefined after the sixth, when the delivery
 * is abandoned. What a receiver asks for is honoured within the ladder: never sooner than the rung, never later than its
 * longest delay.
 */
export function delayAfter(rung: number, { late, asked_ms = 0 }: Lengthening): number | undefined {
  const step = steps[rung - 1];
  return step === undefined ? undefined : Math.max(Math.round(step * (1 + late)), Math.min(asked_ms, longest));
}

const longest = Math.max(...steps);

/** How many tries a ladder has. */
export const maxAttempts = steps.length + 1;
