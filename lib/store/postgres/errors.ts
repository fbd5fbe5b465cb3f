import { Problem } from "../../kernel/errors.ts";
import { codeOf, Damage, describeError } from "../database-error.ts";
import { stopped } from "../write-failure.ts";

/** How often to retry a transaction, after a conflict and after a constraint violation. */
const reruns = { conflict: 3, constraint: 1 };

/** Whether the connection was lost, or the server cannot be reached or cannot write. */
export function isLost(error: unknown): boolean {
  // 25006: the server became a read-only replica. 25P03: idle-in-transaction timeout.
  if (/^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET|ENOENT|08|57P|25006|25P03|53300)/.test(codeOf(error)))
    return true;
  const message = error instanceof Error ? error.message : "";
  return /^(Connection terminated|Client |timeout e|Query read timeout|Cannot use a pool|The server )/.test(message);
}

/** Whether an administrator, a restart or the network ended an open connection, maybe before this query was sent. */
export const isEnded = (error: unknown): boolean =>
  /^(57P01|ECONNRESET|EPIPE)$/.test(codeOf(error)) ||
  (error instanceof Error && /^(Connection terminated|Client has encountered)/.test(error.message));

/** The reason and its remedy, in one sentence. */
export function describePostgres(error: unknown): string {
  const code = codeOf(error);
  const { message } = error as Error;
  if (error instanceof Problem && error.cause) return describePostgres(error.cause);
  if (error instanceof Damage) return describeError(error);
  if (code === "28P01" || /^SASL/.test(message) || (code === "28000" && message.endsWith(" does not exist")))
    return "its server refuses the user or the password; correct the URL, or set PGPASSWORD";
  if (/^28/.test(code))
    return `its server refuses this kind of connection (${message}); change its pg_hba.conf, or the URL`;
  if (code === "3D000") return "its server has no database of this name; make it first";
  if (code === "42501") return `the user may not make or use the tables there (${message}); give that right`;
  if (code === "53300")
    return `its server accepts no more connections, and a process of the service needs up to 14 (${message}); raise the limit, or stop other programs`;
  if (code === "08P01")
    return `a connection pooler in between refuses the connection (${message}); connect to the server of PostgreSQL itself`;
  if (code === "25006") return message;
  if (code === "57P03") return "its server is starting or stopping; try again in a few seconds";
  if (code === "ENOTFOUND") return "no host of this name is known here; correct the URL";
  if ((error as { syscall?: unknown }).syscall === "open")
    return `a file that its URL names cannot be read (${message})`;
  if (/SSL/.test(message)) return `${message}; set sslmode in the URL`;
  if (isLost(error)) return "no server answers there; start PostgreSQL, or correct the URL";
  return message;
}

const unavailable = (message: string, cause: unknown, isLogged: boolean) =>
  new Problem("unavailable", message, { headers: { "retry-after": "5" }, cause, isLogged });

/** An unusable database is a 503, not a 500 (schema/README.md#errors). */
export function translate(error: unknown): unknown {
  if (error instanceof Problem) return error;
  if (codeOf(error) === "25006") return stopped("database_read_only", error);
  if (isLost(error)) return unavailable("the database cannot be reached; try again in a few seconds", error, true);
  const code = codeOf(error);
  if (code === "53100")
    return unavailable("the disk of the database is full; ask the operator to free space", error, false);
  // Statement timeout, lock timeout, out of memory or other resources, deadlock.
  if (/^(57014|55P03|53|40)/.test(code))
    return unavailable("the database is overloaded; try again in a few seconds", error, false);
  return error;
}

/** Whether to retry a failed transaction. By then the conflict is over, and the body sees its result. */
export function mayRunAgain(error: unknown, runs: number): boolean {
  const code = codeOf(error);
  if (code === "40001" || code === "40P01") return runs <= reruns.conflict;
  return (code === "23505" || code === "23503") && runs <= reruns.constraint;
}
