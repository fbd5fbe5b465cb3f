import * as v from "valibot";
import { jobsOf } from "../../kernel/job.ts";
import type { ProjectsService } from "./service.ts";

const job = jobsOf<{ projects: ProjectsService }>();

export const projectsJobs = [
  job({
    kind: "projects.clear",
    args: v.object({ organization_id: v.string(), id: v.string() }),
    run: (key, { projects }) => projects.clear(key),
  }),
];
