/** Whether services without a database path use PostgreSQL (`npm run test:postgres`). */
export const isPostgres = process.env["SVC_TEST_POSTGRES"] !== undefined;

/** Runs everything that is ready without waiting for time. `call` sends a request to the service. */
export async function drainEventLoop(call: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((go) => setImmediate(go));
  // PostgreSQL's answers are independent of event loop turns. It answers earlier queries before this call.
  for (let i = 0; i < 3 && isPostgres; i++) await call();
}

/** Options for a test that only SQLite can pass, with the reason. */
export const onSqlite = (reason: string): { readonly skip: string | false } => ({ skip: isPostgres && reason });

/** Options for a test that counts event loop turns. The pauses of `TEST_INTERLEAVE` would add to them. */
export const withoutPauses = { skip: process.env["TEST_INTERLEAVE"] !== undefined && "pauses take turns of their own" };

/** Options for a test that uses snapshots or forks. */
export const withSnapshots = onSqlite("a database of PostgreSQL has no snapshots, forks and reset");

/** For tests that need snapshots only in part. */
export const hasSnapshots = withSnapshots.skip === false;

/** Options for a test that sets the machine's clock. */
export const onMachineTime = onSqlite("processes of PostgreSQL show the time of the database");
