import type { EngineScope } from "./engine.ts";
import { applicationId } from "./migrate.ts";

/** Advisory locks of the database: the first number says that they are ours. */
const locks = { transaction: 1, copy: 2, deployments: 3, generations: 4, scenarios: 5 } as const;
export const lockOf = (name: keyof typeof locks): string => `${applicationId}, ${locks[name]}`;

/** The SQL that begins a transaction and ends one. Its first lock is that of the database, which most take together. */
interface Locking {
  readonly begin: string;
  /** Unlocks after the commit and its messages, so that later transactions send later messages. */
  readonly unlock: string;
}

const all = lockOf("transaction");
const newest = "SELECT id FROM events";
const last = "ORDER BY id DESC LIMIT 1";

/**
 * A transaction runs alone: in its organization, or among all of them. So every body reads the rows that it then
 * changes, as on SQLite. The order of all locks is: the database, the organization, `lockLimit`, rows of jobs. This
 * order prevents deadlocks; where PostgreSQL still finds one, the body runs again (`mayRunAgain`), as it does when a
 * name was taken. The newest event is read with the lock: the events of the transaction come after it, whatever the
 * clock of its process shows, so identifiers are in commit order.
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
