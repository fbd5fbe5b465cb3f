import * as v from "valibot";
import { jobsOf } from "../../kernel/job.ts";
import type { Domains } from "./domains.ts";
import type { LiveApps } from "./live-apps.ts";

const job = jobsOf<{ apps: LiveApps; domains: Domains }>();
const key = { organization_id: v.string(), project_id: v.string(), environment: v.string() };
const names = v.array(v.string());

/** A job for one server has a kind that ends with the id of its runtime. Any server may look up a domain. */
export const environmentsJobs = [
  job({
    kind: "apps.restart",
    args: v.object({ ...key, restart_id: v.string() }),
    run: (order, { apps }) => apps.runRestart(order),
  }),
  job({
    kind: "apps.verify-domain",
    args: v.object({ ...key, name: v.string(), tries: v.number() }),
    run: (check, { domains }) => domains.verify(check),
  }),
  job({
    kind: "apps.schedule",
    args: v.object({ ...key, name: v.string() }),
    run: (of, { apps }) => apps.runSchedule(of),
  }),
  job({
    kind: "apps.clear",
    args: v.object({
      keys: v.array(v.object(key)),
      running: names,
      releases: names,
      project_id: v.nullable(v.string()),
    }),
    run: (leftovers, { apps }) => apps.runClear(leftovers),
  }),
];
