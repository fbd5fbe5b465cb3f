import * as v from "valibot";
import { jobsOf } from "../../kernel/job.ts";
import type { CommitStatuses } from "./commit-statuses.ts";
import type { Rollout } from "./rollout.ts";

const job = jobsOf<{ rollout: Rollout; statuses: CommitStatuses }>();

export const deploymentsJobs = [
  job({
    kind: "deployments.turns",
    args: v.object({ organization_id: v.optional(v.string()) }),
    run: ({ organization_id }, { rollout }) => rollout.runStart(organization_id),
  }),
  job({
    kind: "deployments.advance",
    args: v.object({
      deployment_id: v.string(),
      handle: v.optional(v.nullable(v.string()), null),
      runtime_id: v.optional(v.string()),
    }),
    run: ({ deployment_id, handle, runtime_id }, { rollout }) => rollout.advance(deployment_id, handle, runtime_id),
    exhausted: ({ deployment_id }, reason, { rollout }, tx) => rollout.giveUp(tx, deployment_id, reason),
  }),
  job({
    kind: "deployments.tell",
    args: v.object({
      organization_id: v.string(),
      project_id: v.string(),
      environment: v.string(),
      commit: v.string(),
      state: v.optional(v.string()),
      tries: v.optional(v.number()),
    }),
    run: (order, { statuses }) => statuses.tell(order),
  }),
];
