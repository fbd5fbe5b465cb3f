import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Violation, violationsOf } from "../invariants.ts";
import { openPostgresSource } from "../transfer/copy-postgres.ts";
import { insertRows, openScratch } from "../transfer/copy-sqlite.ts";
import { eachPage } from "../transfer/copy-tables.ts";

/** Checks the rules of the store, which are SQLite queries, on a temporary copy of one snapshot. */
export async function violationsIn(url: string, signal?: AbortSignal): Promise<readonly Violation[]> {
  const folder = mkdtempSync(join(tmpdir(), "svc-server-rules-"));
  try {
    const database = openScratch(join(folder, "rows.db"));
    const source = await openPostgresSource(url, undefined, { alone: false });
    try {
      await eachPage(source.ask, (table, rows) => {
        if (signal?.aborted)
          throw new Error("the service was closed or its state replaced before all rules were checked");
        insertRows(database, table, rows);
      });
      return violationsOf(database);
    } finally {
      await source.close();
      database.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
