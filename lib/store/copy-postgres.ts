import { filesInDatabase, filesInFolder, targetFilesInDatabase } from "./copy-files.ts";
import { takeCopyLock } from "./copy-lock.ts";
import { copySetting } from "./copy-mark.ts";
import { type Source, settingOf, type Target } from "./copy-sides.ts";
import { type Row, rowsOf, type Table } from "./copy-tables.ts";
import { withoutPassword } from "./database-url.ts";
import { storable } from "./postgres.ts";
import { askOf, onPostgres } from "./postgres-connection.ts";
import { checkServer, migratePostgres } from "./postgres-migrate.ts";

/** A database of PostgreSQL as it is now; `alone` refuses one that a server uses, and keeps servers out until `close`. */
export const openPostgresSource = (url: string, folder: string | undefined, { alone }: { readonly alone: boolean }) =>
  onPostgres(url, { readOnly: true }, async (client): Promise<Source> => {
    await checkServer(client, { isWritten: false });
    if (alone) await takeCopyLock(client);
    await migratePostgres(client, { mayChange: false });
    await client.query("begin isolation level repeatable read, read only");
    const ask = askOf(client);
    const shown = withoutPassword(url);
    return {
      shown,
      ask,
      rows: rowsOf(ask),
      files: folder === undefined ? filesInDatabase(ask) : filesInFolder(folder),
      close: () => client.end(),
    };
  });

export const openPostgresTarget = (url: string, folder: string | undefined) =>
  onPostgres(url, { readOnly: false }, async (client): Promise<Target> => {
    await checkServer(client);
    await takeCopyLock(client);
    const ask = askOf(client);
    const isUsed = async () => {
      const [table] = await ask("select to_regclass('settings') is not null as exists");
      if (!table?.["exists"] || (await settingOf(ask, copySetting)) !== undefined) return false;
      return (await ask("select 1 as row from settings limit 1")).length > 0;
    };
    await migratePostgres(client, { mayChange: !(await isUsed()) });
    const transaction = async (work: () => Promise<void>) => {
      await client.query("begin");
      try {
        await work();
        await client.query("commit");
      } catch (error) {
        await client.query("rollback").catch(() => {});
        throw error;
      }
    };
    return {
      shown: withoutPassword(url),
      rows: rowsOf(ask),
      files: folder === undefined ? targetFilesInDatabase(ask, transaction) : filesInFolder(folder),
      ask,
      isUsed,
      change: (table, surplus, missing) =>
        transaction(async () => {
          const { remove, insert } = statementsOf(table);
          if (surplus.length > 0) await ask(remove, [textOf(surplus)]);
          if (missing.length > 0) await ask(insert, [textOf(missing)]);
        }),
      // Without statistics PostgreSQL would plan as for empty tables.
      finish: async () => void (await client.query("analyze")),
      close: () => client.end(),
    };
  });

function statementsOf({ name, columns, key }: Table) {
  const given = `json_populate_recordset(null::"${name}", $1) as given`;
  const named = columns.map((column) => `"${column}"`).join(", ");
  const same = key.map((column) => `"${name}"."${column}" = given."${column}"`);
  return {
    remove: `delete from "${name}" using ${given} where ${same.join(" and ")}`,
    insert: `insert into "${name}" (${named}) select ${named} from ${given}`,
  };
}

/** Rows as JSON, without U+0000, which PostgreSQL does not store. */
const textOf = (rows: readonly Row[]) => JSON.stringify(rows, (_, value: unknown) => storable(value));
