import { sql } from "kysely";
import type { Clock } from "../kernel/clock.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Queries } from "./query.ts";
import type { Store } from "./store.ts";

/**
 * Each table, with an upper bound of its generated ids. `job_a`: unique jobs have lower-case names, which sort after
 * all generated ids. `int_~`: integrations and webhooks share a table.
 */
const upperBounds = [
  ...(["organizations", "users", "api_keys", "invitations", "projects", "deployments", "generations"] as const).map(
    (table) => [table, "~"] as const,
  ),
  ...(["events", "mails", "scenarios", "endpoints", "deliveries", "schedule_runs"] as const).map(
    (table) => [table, "~"] as const,
  ),
  ["jobs", "job_a"],
  ["endpoints", "int_~"],
] as const;

/** The service's own state: the time of its clock, the fingerprint of its key, the pid of its server. */
export function settingsRepository(query: Queries) {
  return {
    /** The newest id of each kind. A new process generates greater ones. */
    newest: [
      ...upperBounds.map(([table, end]) =>
        query.first((db, _: object) =>
          db.selectFrom(table).select("id").where("id", "<", end).orderBy("id", "desc").limit(sql.lit(1)),
        ),
      ),
      // The primary key of the audit log begins with the organization, so this is one lookup per organization.
      query.first((db, _: object) =>
        db
          .selectFrom("organizations as o")
          .select((eb) =>
            eb
              .selectFrom("audit_log as a")
              .select("a.id")
              .whereRef("a.organization_id", "=", "o.id")
              .orderBy("a.id", "desc")
              .limit(sql.lit(1))
              .as("id"),
          )
          .orderBy("id", (order) => order.desc().nullsLast())
          .limit(sql.lit(1)),
      ),
    ],
    read: query.first((db, p: { name: string }) =>
      db.selectFrom("settings").select("value").where("name", "=", p.name),
    ),
    write: query.pipelined((db, p: { name: string; value: string }) =>
      db
        .insertInto("settings")
        .values({ name: p.name, value: p.value })
        .onConflict((conflict) => conflict.column("name").doUpdateSet((eb) => ({ value: eb.ref("excluded.value") }))),
    ),
  };
}

/** Stores the time and mode of the service's clock, which may be ahead of the machine's. */
export async function writeTime(
  { write }: Pick<ReturnType<typeof settingsRepository>, "write">,
  at: string,
  { mode }: Pick<Clock, "mode">,
): Promise<void> {
  await write({ name: "clock", value: at });
  await write({ name: "clock_mode", value: mode });
}

/** The maximum age of the stored time. */
const timeAccuracy_ms = 1_000;

/**
 * Stores the time of a running clock whenever a transaction writes a due time. So a start, even after a kill, can tell
 * that the machine's clock was set back. A manual clock stores its time when it moves.
 */
export function createTimeKeeper(store: Store, clock: Clock): (tx: Tx) => Promise<void> {
  const settings = store.using(settingsRepository);
  let stored = Number.NEGATIVE_INFINITY;
  const storeAlone = async (now: number) => {
    if (Math.abs(now - stored) < timeAccuracy_ms) return;
    stored = now;
    await store.transaction("rows", (tx) => writeTime(settings(tx), clock.iso(), clock));
  };
  return async (tx) => {
    const now = clock.now();
    if (clock.mode === "manual" || Math.abs(now - stored) < timeAccuracy_ms) return;
    // Store it after the commit: within the transaction, the row lock would block other transactions.
    if (store.engine.hasRowLocks) return tx.afterCommit(() => void storeAlone(now).catch(() => {}));
    await writeTime(settings(tx), clock.iso(), clock);
    tx.afterCommit(() => {
      stored = now;
    });
  };
}
