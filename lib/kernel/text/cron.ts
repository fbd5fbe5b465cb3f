import { Cron } from "croner";
import * as v from "valibot";
import { systemNow } from "../node/system.ts";

/** The next match of five cron fields after an instant, in UTC; undefined if there is none. */
export const nextSlot = (cron: string, after: number): number | undefined =>
  new Cron(cron, { paused: true, utcOffset: 0 }).nextRun(new Date(after))?.getTime();

const isPattern = (text: string): boolean => {
  try {
    return text.trim().split(/\s+/).length === 5 && new Cron(text, { paused: true, utcOffset: 0 }) !== undefined;
  } catch {
    return false;
  }
};

/** Five cron fields that match at some time. */
export const cronText = v.pipe(
  v.string("must be a string"),
  v.maxLength(256, "must have at most 256 characters"),
  v.check(isPattern, 'must be five cron fields, such as "0 3 * * *" for each day at 03:00 UTC'),
  v.check((text) => !isPattern(text) || nextSlot(text, systemNow()) !== undefined, "never fires: no such day exists"),
);
