import * as v from "valibot";
import { milliseconds, parseDuration } from "../kernel/duration.ts";
import { durationText, oneOf, record, text, textOf } from "../kernel/validation.ts";

const longest = "3650d";
const duration = v.pipe(
  durationText(),
  v.check((value) => (parseDuration(value) ?? 0) <= milliseconds(longest), `must be at most ${longest}`),
);
const line = record({ level: oneOf(["info", "warn", "error"]), message: text() });
const costRule = "must be a number from 0 to 1000000";

const fields = record({
  /** `succeed` by default. */
  result: v.optional(oneOf(["succeed", "fail", "rolled_back"])),
  /** The state in which it fails; `building` by default. */
  at: v.optional(oneOf(["building", "deploying"])),
  message: v.optional(textOf(1, 4000)),
  durations: v.optional(
    record({
      queued: v.optional(duration),
      building: v.optional(duration),
      deploying: v.optional(duration),
      in_progress: v.optional(duration),
    }),
  ),
  /**
   * Log lines of the build, after its usual ones. The limit is higher than a deployment's log, so that that limit can be
   * tested.
   */
  logs: v.optional(
    v.pipe(v.array(line, "must be a list"), v.maxLength(20_000, "must have at most 20,000 entries"), v.readonly()),
  ),
  cost_usd: v.optional(v.pipe(v.number(costRule), v.minValue(0, costRule), v.maxValue(1_000_000, costRule))),
  /**
   * How the work advances: `timed` (the default) by its durations, `instant` at once, `polls` by one state at each GET,
   * `manual` at a tester's step.
   */
  pace: v.optional(oneOf(["timed", "instant", "polls", "manual"])),
});

/** The outcome of one simulated deployment or generation; empty for a success in the default time. CONTRACT section 8. */
export const simulatedOutcome = v.pipe(
  fields,
  v.forward(
    v.check(
      ({ at, result }) => at !== "building" || result !== "rolled_back",
      'must be "deploying" for the result "rolled_back", which is a failed health check',
    ),
    ["at"],
  ),
);
export type SimulatedOutcome = v.InferOutput<typeof simulatedOutcome>;
