import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { datetime } from "../../kernel/validation.ts";

/** What an environment shows of its live release; absent without a runtime. */
export const ofRelease = {
  data_bytes: optionalField(
    v.nullable(v.number()),
    "The size of `/data` in bytes, measured every minute; null before the first measurement.",
  ),
  restarts: optionalField(
    v.nullable(
      v.object({
        count: field(v.number(), "How often.", 3),
        since: field(datetime(), "Since when they are counted: the release went live then."),
      }),
    ),
    "How often processes of the live release, workers too, have ended by themselves and were started again; null if none is live.",
  ),
  workers: optionalField(v.array(v.string()), "The workers of the live release, by name."),
  schedules: optionalField(
    v.array(
      v.object({
        name: field(v.string(), "The name in `svc.json`.", "clean"),
        cron: field(v.string(), "When it runs: five fields, in UTC."),
        command: field(v.string(), "The command that runs."),
        timeout_s: field(v.number(), "The time limit of a run, in seconds."),
        next_at: field(datetime(), "When it runs next."),
      }),
    ),
    "The schedules of the live release, each with its next time.",
  ),
};
