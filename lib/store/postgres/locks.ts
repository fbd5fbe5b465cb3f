import type { EngineScope } from "../engine.ts";
import { applicationId } from "../migrate.ts";

/** Advisory locks. Their first number is our application id. */
const locks = { transaction: 1, copy: 2, deployments: 3, generations: 4, scenarios: 5 } as const;
export const lockOf = (name: keyof typeof locks): string => `${applicationId}, ${locks[name]}`;

/** SQL around a transaction. Locks the database: exclusively for `"all"`, shared for an organization, else not. */
interface Locking {
  readonly begin: string;
  /** Runs after the commit and its messages, so that messages are sent in commit order. */
  readonly unlock: string;
}

const all = lockOf("transaction");
const newest = "SELECT id FROM events";
const last = "ORDER BY id DESC LIMIT 1";

/**
 * A transaction runs alone in its organization, or alone among all. So it reads the same rows that it then changes, as
 * on SQLite. The order of locks prevents deadlocks: the database, the organization, `lockLimit`, rows of jobs. If
 * PostgreSQL still detects a deadlock, or a name was taken, the transaction runs again (`mayRunAgain`). The newest
 * event is read under the lock, and the events of the transaction get later ids, whatever this machine's clock shows.
 * So ids are in commit order.
 */
export function lockingOf(scope: EngineScope, quote: (text: string) => string): Locking {
  if (scope === "rows") return { begin: "BEGIN", unlock: "" };
  if (scope === "all")
    return {
      begin: `BEGIN; SELECT pg_advisory_lock(${all}); ${newest} ${last}`,
      unlock: `SELECT pg_advisory_unlock(${all});`,
    };
  const id = quote(scope.organization_id);
  const own = `hashtextextended(${id}, 0)`;
  return {
    begin: `BEGIN; SELECT pg_advisory_lock_shared(${all}); SELECT pg_advisory_lock(${own}); ${newest} WHERE organization_id = ${id} ${last}`,
    unlock: `SELECT pg_advisory_unlock(${own}); SELECT pg_advisory_unlock_shared(${all});`,
  };
}
