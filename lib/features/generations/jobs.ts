import * as v from "valibot";
import { jobsOf } from "../../kernel/job.ts";
import type { GenerationsExecution } from "./execution.ts";

const job = jobsOf<{ execution: GenerationsExecution }>();

export const generationsJobs = [
  job({
    kind: "generations.turn",
    args: v.object({}),
    run: (_, { execution }) => execution.runStart(),
  }),
  job({
    kind: "generations.advance",
    args: v.object({ generation_id: v.string() }),
    run: ({ generation_id }, { execution }) => execution.advance(generation_id),
    exhausted: ({ generation_id }, reason, { execution }, tx) => execution.giveUp(tx, generation_id, reason),
  }),
  job({
    kind: "generations.cancel",
    args: v.object({ generation_id: v.string(), handle: v.nullable(v.string()) }),
    run: ({ generation_id, handle }, { execution }) => execution.cancel(generation_id, handle),
    // Gives up: a driver that cannot cancel would otherwise be asked forever.
    exhausted: () => Promise.resolve(),
  }),
];
