import * as v from "valibot";
import { type SimulatedOutcome, simulatedOutcome } from "../drivers/simulated-outcome.ts";
import { oneOf, record, textOf, wholeNumber } from "../kernel/validation.ts";

const glob = v.optional(textOf(1, 4000));

/** What a deployment, or a generation, is known by. */
export const fields = {
  deployment: ["repo", "branch", "tag", "image_url", "environment"],
  generation: ["model", "prompt"],
} as const;
export type Kind = keyof typeof fields;
const kinds = ["deployment", "generation"] as const;

/** Globs: `*` stands for any characters, `?` for one. A field that the work does not have matches nothing. */
const match = v.pipe(
  record({ repo: glob, branch: glob, tag: glob, image_url: glob, environment: glob, model: glob, prompt: glob }),
  v.check(
    (given) => !Object.values(fields).every((names) => names.some((name) => given[name] !== undefined)),
    "must be about a deployment or about a generation, not about both",
  ),
);
export type Match = v.InferOutput<typeof match>;

const times = wholeNumber(1, 1_000_000);

/** The kind of work that a scenario is about; undefined where it is about both. */
const kindOf = ({ match, next }: { match: Match; next?: Kind | undefined }): Kind | undefined =>
  next ?? kinds.find((kind) => fields[kind].some((name) => match[name] !== undefined));

/** How simulated work turns out that fits. CONTRACT section 8. */
export const newScenario = v.pipe(
  record({
    match: v.optional(match, {}),
    /** Instead of `match`: the very next work of this kind, before every other scenario, and once. */
    next: v.optional(oneOf(kinds)),
    outcome: simulatedOutcome,
    /** How often it is used; always, where it is not set. */
    times: v.optional(times),
  }),
  v.forward(
    v.check(({ next, match }) => next === undefined || Object.keys(match).length === 0, "is instead of match"),
    ["next"],
  ),
  v.forward(
    v.check(({ next, times }) => next === undefined || times === undefined, "is once already with next"),
    ["times"],
  ),
  v.forward(
    v.check(
      (given) => kindOf(given) !== "generation" || given.outcome.result !== "rolled_back",
      "must be succeed or fail: a generation is not rolled back",
    ),
    ["outcome", "result"],
  ),
);
/** A scenario as it is given: `match` or `next`, `outcome`, and how many `times`. */
export interface NewScenario extends Omit<v.InferInput<typeof newScenario>, "outcome"> {
  readonly outcome: SimulatedOutcome;
}
