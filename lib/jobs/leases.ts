import { type Clock, isoOf } from "../kernel/clock.ts";
import type { Lease } from "../kernel/job.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import type { jobsRepository } from "./repository.ts";

const lease_ms = milliseconds("60s");
/** A process treats its own lease as lost this much before its end, because clocks may differ. */
const margin_ms = milliseconds("1s");

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly rows: (tx?: Tx) => ReturnType<typeof jobsRepository>;
}

/** The leases of the jobs that this process runs. */
export function createLeases({ store, clock, rows }: Ports) {
  const held = new Map<string, { readonly attempt: number; until: number }>();
  // A faster clock would end leases before they are renewed.
  const expires = clock.mode !== "scaled";
  const isCurrent = ({ id, attempt }: Pick<Row<"jobs">, "id" | "attempt">) => held.get(id)?.attempt === attempt;
  /** Renews a lease and returns its new end; undefined if another process holds it or has its row locked. */
  const renew = async (tx: Tx, id: string, attempt: number) => {
    const until = clock.now() + lease_ms;
    return (await rows(tx).renew({ id, attempt, until: isoOf(until) })) > 0 ? until : undefined;
  };
  return {
    get count() {
      return held.size;
    },
    end: () => clock.now() + lease_ms,
    begin({ id, attempt }: Row<"jobs">, until: number) {
      held.set(id, { attempt, until });
    },
    /** Ends a lease, unless it belongs to a later attempt of the same job. */
    release(row: Row<"jobs">) {
      if (isCurrent(row)) held.delete(row.id);
    },
    of: (row: Row<"jobs">): Lease => ({
      isHeld: () => isCurrent(row) && (!expires || clock.now() < (held.get(row.id)?.until ?? 0) - margin_ms),
    }),
    async keepAlive() {
      const leases = [...held].map(([id, lease]) => ({ id, lease }));
      const ends = await store.transaction("rows", async (tx) => {
        const ends: (number | undefined)[] = [];
        for (const { id, lease } of leases) ends.push(await renew(tx, id, lease.attempt));
        return ends;
      });
      for (const [i, { id, lease }] of leases.entries()) {
        // Other transactions may have locked some rows. Each wait has its own transaction, which holds no other lock.
        const until =
          ends[i] ??
          (await store.transaction("rows", async (tx) => {
            await rows(tx).lock({ id });
            return renew(tx, id, lease.attempt);
          }));
        if (until !== undefined) lease.until = until;
        else if (held.get(id) === lease) held.delete(id);
      }
    },
  };
}
