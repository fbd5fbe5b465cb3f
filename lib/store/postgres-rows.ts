import type { Client } from "pg";
import { openMemory } from "./database-files.ts";
import { type Violation, violationsOf } from "./invariants.ts";
import { connectionConfig } from "./postgres.ts";
import type { Driver } from "./postgres-link.ts";
import { queryBuilder } from "./sqlite.ts";
import type { Tables } from "./tables.ts";

/** Rows that are read at a time. */
const batch = 1_000;

/** The rows of a table, in batches. */
async function* rowsOf(client: Client, table: string): AsyncGenerator<Record<string, unknown>[]> {
  await client.query(`declare source cursor for select * from ${client.escapeIdentifier(table)}`);
  for (;;) {
    const { rows } = await client.query(`fetch ${batch} from source`);
    if (rows.length === 0) break;
    yield rows;
  }
  await client.query("close source");
}

/** The rules of the store are queries of SQLite: they run on a copy of all rows, in memory, as they were at one time. */
export async function violationsIn(driver: Driver, url: string, signal: AbortSignal): Promise<readonly Violation[]> {
  const client = new driver.Client(connectionConfig(url, "svc-server rules", "reads"));
  const { database, engine } = openMemory();
  try {
    await client.connect();
    await client.query("begin isolation level repeatable read");
    const names = database
      .prepare("select name from sqlite_schema where type = 'table' and name <> 'migrations'")
      .pluck();
    database.pragma("foreign_keys = OFF");
    for (const table of names.all() as (keyof Tables)[]) {
      for await (const rows of rowsOf(client, table)) {
        if (signal.aborted)
          throw new Error("the service was closed or its state replaced before all rules were checked");
        for (const row of rows) {
          const { sql } = queryBuilder
            .insertInto(table)
            .values(row as never)
            .compile();
          database.prepare(sql).run(Object.values(row));
        }
      }
    }
    return violationsOf(database);
  } finally {
    await client.end().catch(() => {});
    await engine.close();
  }
}
