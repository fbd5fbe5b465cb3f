import * as v from "valibot";
import { type SimulatedOutcome, simulatedOutcome } from "../../drivers/simulated-outcome.ts";
import { oneOf, record, textOf, wholeNumber } from "../../kernel/validation.ts";

const glob = v.optional(textOf(1, 4000));

export const fields = {
  deployment: ["repo", "branch", "tag", "image_url", "environment"],
  generation: ["model", "prompt"],
} as const;
export type Kind = keyof typeof fields;
const kinds = ["deployment", "generation"] as const;

/** Globs: `*` matches any characters, `?` one. A glob on a field that the work lacks matches nothing. */
const match = v.pipe(
  record({ repo: glob, branch: glob, tag: glob, image_url: glob, environment: glob, model: glob, prompt: glob }),
  v.check(
    (given) => !Object.values(fields).every((names) => names.some((name) => given[name] !== undefined)),
    "must match a deployment or a generation, not both",
  ),
);
export type Match = v.InferOutput<typeof match>;

const times = wholeNumber(1, 1_000_000);

/** The kind of work that a scenario matches; undefined for both. */
export const kindOf = ({ match, next }: { match: Match; next?: Kind | null | undefined }): Kind | undefined =>
  next ?? kinds.find((kind) => fields[kind].some((name) => match[name] !== undefined));

export const newScenario = v.pipe(
  record({
    match: v.optional(match, {}),
    /** Replaces `match`: applies once, to the next work of this kind, before every other scenario. */
    next: v.optional(oneOf(kinds)),
    outcome: simulatedOutcome,
    /** How often the scenario applies. Default: always. */
    times: v.optional(times),
  }),
  v.forward(
    v.check(
      ({ next, match }) => next === undefined || Object.keys(match).length === 0,
      "cannot be combined with match",
    ),
    ["next"],
  ),
  v.forward(
    v.check(
      ({ next, times }) => next === undefined || times === undefined,
      "cannot be combined with next, which applies once",
    ),
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
export interface NewScenario extends Omit<v.InferInput<typeof newScenario>, "outcome"> {
  readonly outcome: SimulatedOutcome;
}
