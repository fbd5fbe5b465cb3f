import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { packageFolder } from "../kernel/version.ts";
import { Damage } from "./database-error.ts";

/** "svcs" in ASCII. Marks our databases, so that another program's database is not mistaken for an old one of ours. */
export const applicationId = 0x73766373;
export const foreignDatabase =
  "it belongs to another program; name a file that svc-server made, or one that does not exist yet";
export const olderSchema = "its schema is older than this svc-server; update it with svc-server migrate";
export const newerSchema = (found: number, known: number) =>
  `it was written by a newer svc-server (schema ${found}, this one knows ${known}); use that version`;

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** The schema versions before and after a command; 0 if there are no tables. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}

let read: readonly Migration[] | undefined;

/** The numbered files of `schema/`. */
export function migrations(): readonly Migration[] {
  if (read) return read;
  const folder = packageFolder();
  read = readdirSync(join(folder, "schema"))
    .filter((name) => /^\d{4}_.+\.sql$/.test(name))
    .sort()
    .map((name) => {
      const sql = readFileSync(join(folder, "schema", name), "utf8").replaceAll("\r\n", "\n");
      const checksum = createHash("sha256").update(sql).digest("hex");
      return { version: Number(name.slice(0, 4)), name, sql, checksum };
    });
  return read;
}

export const isNew = (database: Database): boolean =>
  database.prepare("select count(*) from sqlite_schema").pluck().get() === 0;

export const isCurrent = (database: Database): boolean =>
  database.pragma("user_version", { simple: true }) === migrations().length;

/** Applies the missing migrations in one transaction. Throws for a database that `checkCompatible` refuses. */
export function migrate(database: Database, files: readonly Migration[] = migrations()): void {
  checkCompatible(database, files);
  const from = database.pragma("user_version", { simple: true }) as number;
  if (from === files.length) return;
  database
    .transaction(() => {
      database.pragma(`application_id = ${applicationId}`);
      database.exec(
        "create table if not exists migrations (version integer primary key, name text not null, checksum text not null)",
      );
      for (const file of files.filter(({ version }) => version > from)) {
        database.exec(file.sql);
        database.prepare("insert into migrations values (?, ?, ?)").run(file.version, file.name, file.checksum);
      }
      database.pragma(`user_version = ${files.length}`);
    })
    .immediate();
}

/**
 * Throws if another program or a newer version made the database, if its migrations differ from these, or if a table or
 * index of its migrations is missing.
 */
export function checkCompatible(database: Database, files: readonly Migration[] = migrations()): void {
  const isOurs = database.pragma("application_id", { simple: true }) === applicationId;
  if (isNew(database)) {
    if (isOurs) throw new Damage("it is damaged: all its tables are missing");
    return;
  }
  if (!isOurs) throw new Error(foreignDatabase);
  const present = database.prepare("select name from sqlite_schema").pluck().all() as string[];
  requirePresent(["migrations"], present);
  const version = database.pragma("user_version", { simple: true }) as number;
  if (version > files.length) throw new Error(newerSchema(version, files.length));
  const applied = database.prepare("select version, name, checksum from migrations order by version").all();
  checkApplied(applied as Migration[], present, files.slice(0, version));
}

function requirePresent(names: readonly string[], present: readonly string[]): void {
  const missing = names.find((name) => !present.includes(name));
  if (missing !== undefined) throw new Damage(`it is damaged: its table or index ${missing} is missing`);
}

export type Applied = Pick<Migration, "version" | "name" | "checksum">;

/** Throws if applied migrations differ from these files, or if one of their tables and indexes is not `present`. */
export function checkApplied(
  applied: readonly Applied[],
  present: readonly string[],
  files: readonly Migration[],
): void {
  const changed = applied.find((row) => files[row.version - 1]?.checksum !== row.checksum);
  if (changed)
    throw new Error(
      `its migration ${changed.name} differs from the one of this svc-server; use the version that wrote it`,
    );
  requirePresent(namesAfter(files), present);
}

const definition =
  /^(?:CREATE (?:UNIQUE )?(?:TABLE|INDEX) (?<made>\w+)|DROP (?:TABLE|INDEX) (?<dropped>\w+)|ALTER TABLE (?<from>\w+) RENAME TO (?<to>\w+))/gm;

/** The tables and indexes after these migrations, parsed from their SQL: migrating would delay each start. */
export function namesAfter(files: readonly Migration[]): string[] {
  const names = new Set<string>();
  for (const { sql } of files) {
    for (const { groups: { made, dropped, from, to } = {} } of sql.matchAll(definition)) {
      for (const gone of [dropped, from]) if (gone !== undefined) names.delete(gone);
      for (const added of [made, to]) if (added !== undefined) names.add(added);
    }
  }
  return [...names];
}
