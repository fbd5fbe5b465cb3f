import * as v from "valibot";
import { milliseconds, parseDuration } from "../kernel/text/duration.ts";
import { durationText, oneOf, record, text, textOf } from "../kernel/validation.ts";

const longest = "3650d";
const duration = v.pipe(
  durationText(),
  v.check((value) => (parseDuration(value) ?? 0) <= milliseconds(longest), `must be at most ${longest}`),
);
const line = record({ level: oneOf(["info", "warn", "error"]), message: text() });
const costRule = "must be a number from 0 to 1000000";

/** Where a simulated deployment can fail: the phase, the driver's answer, and the default message. */
export const failures = {
  building: { phase: "building", state: "failed", message: "the build failed" },
  deploying: { phase: "deploying", state: "failed", message: "the rollout failed" },
  health_check: { phase: "deploying", state: "unhealthy", message: "the health check failed" },
} as const;
export type FailsAt = keyof typeof failures;
const places = ["building", "deploying", "health_check"] as const satisfies readonly FailsAt[];

/** These descriptions become the field table in schema/testing.md. */
export const outcomeFields = record({
  result: v.optional(
    v.pipe(
      oneOf(["succeed", "fail", "rolled_back"]),
      v.description(
        "How the work ends; `succeed` by default. For deployments, `rolled_back` means `fail` at `health_check`.",
      ),
    ),
  ),
  at: v.optional(
    v.pipe(
      oneOf(places),
      v.description("Where a deployment fails; `building` by default. Without `fail` it has no effect."),
    ),
  ),
  message: v.optional(
    v.pipe(
      textOf(1, 4000),
      v.description(
        "Why it fails. For a deployment: the line of the log before the last one, `Deployment failed`, and the `reason` of the event, which is `health_check` after a failed health check. For a generation: the `error.message`.",
      ),
    ),
  ),
  durations: v.optional(
    v.pipe(
      record({
        queued: v.optional(duration),
        building: v.optional(duration),
        deploying: v.optional(duration),
        in_progress: v.optional(duration),
      }),
      v.description(
        "How long each state lasts, such as `30s`. By default `queued` 1 s, `building` 3 s, `deploying` 2 s; for generations `queued` 1 s, `in_progress` 2 s.",
      ),
    ),
  ),
  // Above the limit of a deployment's log, so that limit can be tested.
  logs: v.optional(
    v.pipe(
      v.array(line, "must be a list"),
      v.maxLength(20_000, "must have at most 20,000 entries"),
      v.readonly(),
      v.description("Lines for the log of a deployment, at the end of its build: `{level, message}`."),
    ),
  ),
  cost_usd: v.optional(
    v.pipe(
      v.number(costRule),
      v.minValue(0, costRule),
      v.maxValue(1_000_000, costRule),
      v.description("The cost of a generation that succeeds, instead of its model's price."),
    ),
  ),
  pace: v.optional(
    v.pipe(
      oneOf(["timed", "instant", "polls", "manual"]),
      v.description(
        "How the work advances: `timed` (the default) by its durations, `instant` at once, `polls` by one state at each GET of it, `manual` by one state at each call that steps it.",
      ),
    ),
  ),
});

/** The outcome of a simulated deployment or generation; empty for success in the default time. */
export const simulatedOutcome = v.pipe(
  outcomeFields,
  v.forward(
    v.check(
      ({ at, result }) => at !== "building" || result !== "rolled_back",
      'must be "health_check" for the result "rolled_back", which is a failed health check',
    ),
    ["at"],
  ),
);
export type SimulatedOutcome = v.InferOutput<typeof simulatedOutcome>;
