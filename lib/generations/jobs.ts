import * as v from "valibot";
import { jobsOf } from "../kernel/job.ts";
import type { GenerationsProgress } from "./progress.ts";

const job = jobsOf<{ generationsProgress: GenerationsProgress }>();

export const generationsJobs = [
  job({
    kind: "generations.turn",
    args: v.object({}),
    run: (_, { generationsProgress }) => generationsProgress.turn(),
    exhausted: (_, __, { generationsProgress }, tx) => generationsProgress.turnLater(tx),
  }),
  job({
    kind: "generations.advance",
    args: v.object({ generation_id: v.string() }),
    run: ({ generation_id }, { generationsProgress }) => generationsProgress.advance(generation_id),
    exhausted: ({ generation_id }, reason, { generationsProgress }, tx) =>
      generationsProgress.giveUp(tx, generation_id, reason),
  }),
  job({
    kind: "generations.cancel",
    args: v.object({ generation_id: v.string(), handle: v.nullable(v.string()) }),
    run: ({ generation_id, handle }, { generationsProgress }) => generationsProgress.cancel(generation_id, handle),
  }),
];
