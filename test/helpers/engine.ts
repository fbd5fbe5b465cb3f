/** Whether services that would be in memory have databases of PostgreSQL (`npm run test:postgres`). */
export const isPostgres = process.env["SVC_TEST_POSTGRES"] !== undefined;

/** Lets everything happen that takes no time; `call` asks the service something. */
export async function drainEventLoop(call: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((go) => setImmediate(go));
  // The answers of a database take no turn of the event loop. What was asked before is answered before.
  for (let i = 0; i < 3 && isPostgres; i++) await call();
}

/** The options of a test that only SQLite can pass, for this reason. */
export const onSqlite = (reason: string): { readonly skip: string | false } => ({ skip: isPostgres && reason });

/** The options of a test that counts the turns of the event loop, which pauses add to (`TEST_INTERLEAVE`). */
export const withoutPauses = { skip: process.env["TEST_INTERLEAVE"] !== undefined && "pauses take turns of their own" };

/** The options of a test with snapshots or forks. */
export const withSnapshots = onSqlite("a database of PostgreSQL has no snapshots, forks and reset");

/** For a test of which a part alone needs them. */
export const hasSnapshots = withSnapshots.skip === false;

/** The options of a test that sets the machine's clock. */
export const onMachineTime = onSqlite("processes of PostgreSQL show the time of the database");
