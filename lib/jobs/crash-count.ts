import { milliseconds } from "../kernel/duration.ts";
import { createRandom } from "../kernel/random.ts";
import type { Row } from "../store/tables.ts";

/**
 * At the next start, a kill of the service and a job that crashes its process look the same. So a suspect waits, by
 * chance, for none to three ends of the process before it runs again, and is watched for one more. A job that always
 * crashes always ends that process. A kill from outside hits an innocent job in that moment at most one time in four,
 * whatever its timing.
 */
export const watch_ms = milliseconds("250ms");
const holds = 4;
/** The number of strikes in a row that an innocent job gets once in 16,384 times. */
const strikesAllowed = 7;
/**
 * A job that was cut off this often in a row is given up, whatever the cause: the service never lives long enough for
 * it.
 */
const crashesAllowed = 50;

export const isGivenUp = ({ crashes, strikes }: Row<"jobs">): boolean =>
  crashes >= crashesAllowed || strikes >= strikesAllowed;

/** The chance derives from the attempt, so a seeded service repeats exactly. */
export const holdOf = ({ id, attempt }: Pick<Row<"jobs">, "id" | "attempt">): number =>
  Math.floor(createRandom(`${id} ${attempt}`).fraction() * holds) * watch_ms;
