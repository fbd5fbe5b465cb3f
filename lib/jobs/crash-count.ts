import { createRandom } from "../kernel/random.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import type { Row } from "../store/tables.ts";

/**
 * After a restart, a job that crashed its process and a job that was running when the service was killed look the same.
 * So a suspect job waits zero to three watch periods, at random, before it runs again, and is watched for one more. A
 * job that always crashes ends the process within its watch. A kill from outside falls into it at most once in four.
 */
export const watch_ms = milliseconds("250ms");
const holds = 4;
/** A job that does not crash gets this many strikes in a row with a probability of 1 in 16,384. */
const strikesAllowed = 7;
/** A job cut off this often in a row is given up: the service never runs long enough for it. */
const crashesAllowed = 50;

export const isGivenUp = ({ crashes, strikes }: Row<"jobs">): boolean =>
  crashes >= crashesAllowed || strikes >= strikesAllowed;

/** The random value depends only on job and attempt, so a seeded service repeats exactly. */
export const holdOf = ({ id, attempt }: Pick<Row<"jobs">, "id" | "attempt">): number =>
  Math.floor(createRandom(`${id} ${attempt}`).fraction() * holds) * watch_ms;
