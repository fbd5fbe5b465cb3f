import type { Client } from "pg";
import { type Applied, checkApplied, type Migration, migrations, newerSchema, olderSchema } from "../migrate.ts";
import { lockOf } from "./locks.ts";

const foreign = "it belongs to another program; name one that svc-server made, or an empty one";
/** An error with the code that PostgreSQL uses for a write to a read-only database. */
const readOnly = (sentence: string) => Object.assign(new Error(sentence), { code: "25006" });
const oldest = { number: 140_000, name: "14" };

/** Throws if the server is too old or misconfigured, or if it is read-only and `isWritten`. */
export async function checkServer(client: Client, { isWritten = true } = {}): Promise<void> {
  const { rows } = await client.query(`select
    current_setting('server_version_num') as number, current_setting('server_version') as version,
    current_setting('server_encoding') as encoding, pg_is_in_recovery() as is_replica, current_schema() as schema,
    (select reset_val = 'on' from pg_settings where name = 'default_transaction_read_only') as is_read_only`);
  const { number, version, encoding, is_replica, is_read_only, schema } = rows[0];
  if (Number(number) < oldest.number)
    throw new Error(`its server is PostgreSQL ${version}; ${oldest.name} or a later version is needed`);
  if (encoding !== "UTF8") throw new Error(`its encoding is ${encoding}; make a database with the encoding UTF8`);
  if (is_replica) throw readOnly("its server is a read-only replica; name its primary");
  if (is_read_only && isWritten) throw readOnly("it is read-only; set default_transaction_read_only to off");
  // Without synchronous commits, a crash of the server would lose acknowledged writes.
  await client.query(
    "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'",
  );
  if (schema === null) throw new Error("the search path of the user names no schema; make one");
}

/** Makes PostgreSQL compare text by bytes, as SQLite does. Other collations depend on the machine. */
const portable = (sql: string) => sql.replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"');

async function namesIn(client: Client): Promise<string[]> {
  const { rows } = await client.query(
    "select relname from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'i')",
  );
  return rows.map(({ relname }) => relname);
}

/**
 * Applies the missing migrations in one transaction. Returns true if there were no tables before. Throws if another
 * program or a newer version made the database, or if its migrations differ from these. Without `mayChange`, throws if
 * migrations are missing.
 */
export async function migratePostgres(
  client: Client,
  { mayChange }: { readonly mayChange: boolean },
): Promise<boolean> {
  // Look first without the lock, which waits for all open writes. Use one snapshot: another server may be migrating.
  const seen = await within(client, "BEGIN ISOLATION LEVEL REPEATABLE READ", () => look(client));
  if (seen.missing.length === 0) return false;
  if (!mayChange)
    throw new Error(
      seen.isNew ? "it has no tables; start a server on it first, or run svc-server migrate" : olderSchema,
    );
  return within(client, `BEGIN; SELECT pg_advisory_xact_lock(${lockOf("transaction")})`, async () => {
    const { isNew, missing } = await look(client);
    if (isNew)
      await client.query(
        'create table migrations (version integer primary key, name text collate "C" not null, checksum text collate "C" not null)',
      );
    for (const file of missing) {
      await client.query(portable(file.sql));
      await client.query("insert into migrations values ($1, $2, $3)", [file.version, file.name, file.checksum]);
    }
    return isNew;
  });
}

/** The migrations that the database lacks. Throws as `migratePostgres` does. */
async function look(client: Client): Promise<{ isNew: boolean; missing: readonly Migration[] }> {
  const files = migrations();
  const present = await namesIn(client);
  const isNew = present.length === 0;
  const applied = isNew ? [] : await appliedIn(client, present);
  if (applied.length > files.length) throw new Error(newerSchema(applied.length, files.length));
  checkApplied(applied, present, files.slice(0, applied.length));
  return { isNew, missing: files.slice(applied.length) };
}

async function within<T>(client: Client, begin: string, work: () => Promise<T>): Promise<T> {
  await client.query(begin);
  try {
    const result = await work();
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** Checks the columns too: another program may have a table of this name. */
async function appliedIn(client: Client, present: readonly string[]): Promise<Applied[]> {
  if (!present.includes("migrations") || !present.includes("settings")) throw new Error(foreign);
  const { rows } = await client.query("select * from migrations");
  if (!rows.every((row) => "version" in row && "name" in row && "checksum" in row)) throw new Error(foreign);
  return (rows as Applied[]).sort((a, b) => a.version - b.version);
}
