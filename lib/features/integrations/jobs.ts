import * as v from "valibot";
import { jobsOf } from "../../kernel/job.ts";
import type { PreviewsService } from "./previews.ts";

const job = jobsOf<{ previews: PreviewsService }>();

export const previewsJobs = [
  job({
    kind: "previews.end",
    args: v.object({ organization_id: v.string(), integration_id: v.string(), number: v.number() }),
    run: (key, { previews }) => previews.runEnd(key),
  }),
];
