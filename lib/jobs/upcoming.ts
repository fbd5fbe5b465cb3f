import type { Store } from "../store/store.ts";
import { jobsRepository } from "./repository.ts";

/** Work that waits for its time. */
export interface Upcoming {
  readonly at: string;
  /** Such as `deployments.advance` or `deliveries.pump`. */
  readonly kind: string;
  /** The record that it concerns; null where it chooses one when it runs. */
  readonly id: string | null;
}

/** The arguments of a job that name a record, the narrowest first. */
const names = ["delivery_id", "deployment_id", "generation_id", "endpoint_id", "id"] as const;

function recordOf(args: string): string | null {
  const given: unknown = JSON.parse(args);
  const found = names.map((name) => Object(given)[name]).find((value) => typeof value === "string");
  return found ?? null;
}

/** The next hundred due jobs, earliest first, without periodic ones such as the daily clean-up. */
export function createUpcoming(store: Store): () => Promise<Upcoming[]> {
  const jobs = store.using(jobsRepository);
  return async () =>
    (await jobs().upcoming({})).map(({ run_at, kind, args }) => ({ at: run_at, kind, id: recordOf(args) }));
}
