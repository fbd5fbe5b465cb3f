import * as v from "valibot";
import { jobsOf } from "../../kernel/job.ts";
import type { Outbox } from "./outbox.ts";
import { openAttempt } from "./schema.ts";
import type { Endpoints } from "./service.ts";

const job = jobsOf<{ endpoints: Endpoints; outbox: Outbox }>();

export const deliveriesJobs = [
  job({
    kind: "deliveries.pump",
    args: v.object({ endpoint_id: v.string(), organization_id: v.optional(v.string()) }),
    run: ({ endpoint_id, organization_id }, { outbox }, lease) => outbox.pump(lease, endpoint_id, organization_id),
  }),
  job({
    kind: "deliveries.redeliver",
    args: v.object({ delivery_id: v.string() }),
    run: ({ delivery_id }, { outbox }, lease) => outbox.redeliver(lease, delivery_id),
  }),
  job({
    kind: "deliveries.end",
    args: openAttempt,
    run: (attempt, { outbox }) => outbox.end(attempt),
  }),
  job({
    kind: "endpoints.clear",
    args: v.object({ organization_id: v.string(), id: v.string() }),
    run: (key, { endpoints }) => endpoints.clear(key),
  }),
];
