import { milliseconds } from "../kernel/duration.ts";
import { createRandom } from "../kernel/random.ts";
import type { Row } from "../store/tables.ts";

/**
 * Kills of the service and a job that crashes its process look the same to the next start. So a suspect begins after none
 * to three of these, by chance, and its process is watched for one more. A job that crashes at once always ends it then:
 * whoever kills the service hits that time once in four at most, however the kills are spread.
 */
export const watch_ms = milliseconds("250ms");
const holds = 4;
/** An innocent job comes to so many strikes in a row once in 16,384 times. */
const strikesAllowed = 7;
/** A job that was cut off so often in a row is given up, whoever is to blame: the service never lives as long as it takes. */
const crashesAllowed = 50;

export const isGivenUp = ({ crashes, strikes }: Row<"jobs">): boolean =>
  crashes >= crashesAllowed || strikes >= strikesAllowed;

/** The chance is that of the attempt, so that a seeded service repeats exactly. */
export const holdOf = ({ id, attempt }: Pick<Row<"jobs">, "id" | "attempt">): number =>
  Math.floor(createRandom(`${id} ${attempt}`).fraction() * holds) * watch_ms;
