import { milliseconds } from "../kernel/duration.ts";
import { createRandom } from "../kernel/random.ts";
import type { Row } from "../store/tables.ts";

/**
 * To the next start, a kill of the service and a job that crashes its process look the same. So a suspect waits for none to
 * three ends of its process, by chance, before it runs again, and is watched for one more. A job that crashes at once always
 * ends that process. Kills from outside hit an innocent job in that moment one time in four at most, however they are timed.
 */
export const watch_ms = milliseconds("250ms");
const holds = 4;
/** An innocent job gets so many strikes in a row once in 16,384 times. */
const strikesAllowed = 7;
/**
 * A job that was cut off so often in a row is given up, whatever the cause: the service never lives as long as the job takes.
 */
const crashesAllowed = 50;

export const isGivenUp = ({ crashes, strikes }: Row<"jobs">): boolean =>
  crashes >= crashesAllowed || strikes >= strikesAllowed;

/** The chance derives from the attempt, so that a seeded service repeats exactly. */
export const holdOf = ({ id, attempt }: Pick<Row<"jobs">, "id" | "attempt">): number =>
  Math.floor(createRandom(`${id} ${attempt}`).fraction() * holds) * watch_ms;
