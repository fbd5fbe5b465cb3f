import type { Client } from "pg";
import { DatabaseError } from "../database-error.ts";
import { withoutPassword } from "../database-url.ts";
import { type Migrated, migrations } from "../migrate.ts";
import type { Ask, Row } from "../transfer/copy-tables.ts";
import { shareCopyLock } from "./copy-lock.ts";
import { connectionConfig, loadDriver } from "./driver.ts";
import { describePostgres } from "./errors.ts";
import { checkServer, migratePostgres } from "./migrate.ts";

/** The statement timeout. Enough to count many millions of rows. */
const statement_ms = 600_000;

/** Opens a connection, which `work` closes, without an idle timeout: the other side of a copy may be slow. */
export async function onPostgres<T>(
  url: string,
  { readOnly }: { readonly readOnly: boolean },
  work: (client: Client) => Promise<T>,
): Promise<T> {
  let client: Client | undefined;
  try {
    const driver = await loadDriver();
    const config = connectionConfig(url, "svc-server command", readOnly ? "reads" : "transactions");
    const session = { ...config.session, statement_timeout: statement_ms, idle_in_transaction_session_timeout: 0 };
    client = new driver.Client({ ...config, session, query_timeout: 2 * statement_ms });
    await client.connect();
    return await work(client);
  } catch (error) {
    await client?.end().catch(() => {});
    throw error instanceof DatabaseError
      ? error
      : new DatabaseError(withoutPassword(url), describePostgres(error), error);
  }
}

export const askOf =
  (client: Client): Ask =>
  async (text, values = []) =>
    (await client.query(text, [...values])).rows as Row[];

/** The number of applied migrations; 0 if there are no tables. */
export async function schemaOf(ask: Ask): Promise<number> {
  const [table] = await ask("select (to_regclass('migrations') is not null)::text as made");
  if (table?.["made"] !== "true") return 0;
  const [row] = await ask("select count(*) as applied from migrations");
  return Number(row?.["applied"]);
}

/** Creates or migrates the tables. Servers may be running. */
export const migrateUrl = (url: string): Promise<Migrated> =>
  onPostgres(url, { readOnly: false }, async (client) => {
    await checkServer(client);
    await shareCopyLock(client);
    const ask = askOf(client);
    const from = await schemaOf(ask);
    await migratePostgres(client, { mayChange: true });
    await client.end();
    return { from, to: migrations().length };
  });
