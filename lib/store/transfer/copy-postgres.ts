import { existsSync, readdirSync } from "node:fs";
import { assetsInFolder, isAssetName } from "../asset-files.ts";
import { part_bytes } from "../asset-rows.ts";
import { withoutPassword } from "../database-url.ts";
import { askOf, onPostgres } from "../postgres/command-connection.ts";
import { takeCopyLock } from "../postgres/copy-lock.ts";
import { storable } from "../postgres/driver.ts";
import { checkServer, migratePostgres } from "../postgres/migrate.ts";
import { copySetting } from "./copy-mark.ts";
import { type Side, type Source, settingOf, type Target } from "./copy-sides.ts";
import { type Ask, type Row, type Table, tablesInOrder } from "./copy-tables.ts";

/** Generation files on the PostgreSQL side: in the folder, or in rows as `assetsInDatabase` stores them. */
export const filesOf = (ask: Ask, folder: string | undefined): Side["files"] =>
  folder === undefined ? filesInDatabase(ask) : assetsInFolder(folder);

const filesInDatabase = (ask: Ask): Side["files"] => ({
  names: async () => (await ask("select name from asset_parts where part = 0")).map(({ name }) => String(name)),
  async find(name) {
    const parts = await ask("select content from asset_parts where name = $1 order by part", [name]);
    const bytes = parts.map(({ content }) => Buffer.from(String(content), "base64"));
    return bytes.length === 0 ? undefined : Buffer.concat(bytes);
  },
  async store(name, bytes) {
    // An empty file has one part too.
    for (let part = 0; part === 0 || part * part_bytes < bytes.length; part++) {
      const content = Buffer.from(bytes.subarray(part * part_bytes, (part + 1) * part_bytes));
      const values = [name, part, content.length, content.toString("base64")];
      await ask("insert into asset_parts (name, part, bytes, content) values ($1, $2, $3, $4)", values);
    }
  },
});

/** A PostgreSQL database, read from one snapshot. With `alone`, refuses servers, and keeps them out until `close`. */
export const openPostgresSource = (url: string, folder: string | undefined, { alone }: { readonly alone: boolean }) =>
  onPostgres(url, { readOnly: true }, async (client): Promise<Source> => {
    await checkServer(client, { isWritten: false });
    if (alone) await takeCopyLock(client);
    await migratePostgres(client, { mayChange: false });
    await client.query("begin isolation level repeatable read, read only");
    const ask = askOf(client);
    return { shown: withoutPassword(url), ask, files: filesOf(ask, folder), close: () => client.end() };
  });

export const openPostgresTarget = (url: string, folder: string | undefined) =>
  onPostgres(url, { readOnly: false }, async (client): Promise<Target> => {
    await checkServer(client);
    await takeCopyLock(client);
    const ask = askOf(client);
    const [table] = await ask("select to_regclass('settings') is not null as exists");
    const isUnfinished = table?.["exists"] ? (await settingOf(ask, copySetting)) !== undefined : false;
    const rows = table?.["exists"] ? await ask("select 1 as row from settings limit 1") : [];
    const isUsed = rows.length > 0 && !isUnfinished;
    await migratePostgres(client, { mayChange: !isUsed });
    const side = { ask, files: filesOf(ask, folder) };
    if (!isUsed && !isUnfinished && folder !== undefined) refuseFiles(folder);
    return {
      shown: withoutPassword(url),
      used: isUsed ? side : undefined,
      isUnfinished,
      async fill(work) {
        // This mark is durable before the copy starts. The transaction below deletes it.
        if (!isUnfinished) await ask("insert into settings (name, value) values ($1, 'unfinished')", [copySetting]);
        await client.query("begin");
        for (const { name } of [...tablesInOrder()].reverse()) await client.query(`delete from "${name}"`);
        await client.query("delete from asset_parts");
        const result = await work({ ...side, insert: async (...given) => void (await ask(...insertionOf(...given))) });
        await client.query("commit");
        // Without statistics, PostgreSQL would plan queries as if the tables were empty.
        await client.query("analyze");
        return result;
      },
      close: () => client.end(),
    };
  });

function refuseFiles(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).some(isAssetName))
    throw new Error(`files of another database are in ${folder}; move them away, or name another folder`);
}

/** Inserts rows from JSON, without U+0000, which PostgreSQL cannot store. */
function insertionOf({ name, columns }: Table, rows: readonly Row[]): [text: string, values: [string]] {
  const named = columns.map((column) => `"${column}"`).join(", ");
  const given = `json_populate_recordset(null::"${name}", $1) as given`;
  const text = JSON.stringify(rows, (_, value: unknown) => storable(value));
  return [`insert into "${name}" (${named}) select ${named} from ${given}`, [text]];
}
