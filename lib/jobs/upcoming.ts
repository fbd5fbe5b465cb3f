import type { Store } from "../store/store.ts";
import { jobsRepository } from "./repository.ts";

export interface Upcoming {
  readonly at: string;
  /** For example `deployments.advance` or `deliveries.pump`. */
  readonly kind: string;
  /** The record that the job concerns; null if the job selects one when it runs. */
  readonly id: string | null;
}

/** The job arguments that name a record, most specific first. */
const names = ["delivery_id", "deployment_id", "generation_id", "endpoint_id", "id"] as const;

function recordOf(args: string): string | null {
  const parsed: unknown = JSON.parse(args);
  const id = names.map((name) => Object(parsed)[name]).find((value) => typeof value === "string");
  return id ?? null;
}

/** The next hundred one-off jobs, earliest first. Leaves out periodic jobs such as the daily clean-up. */
export function createUpcoming(store: Store): () => Promise<Upcoming[]> {
  const jobs = store.using(jobsRepository);
  return async () =>
    (await jobs().upcoming({})).map(({ run_at, kind, args }) => ({ at: run_at, kind, id: recordOf(args) }));
}
