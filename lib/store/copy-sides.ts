import type { Files, TargetFiles } from "./copy-files.ts";
import { copySetting, unfinished } from "./copy-mark.ts";
import type { Ask, Row, Rows, Table } from "./copy-tables.ts";
import { DatabaseError } from "./database-error.ts";

/** A database that is copied: everything is read from one snapshot. */
export interface Source {
  /** Its name, as people may read it. */
  readonly shown: string;
  readonly ask: Ask;
  readonly rows: Rows;
  readonly files: Files;
  close(): Promise<void>;
}

/** A database that is written. */
export interface Target {
  readonly shown: string;
  readonly rows: Rows;
  readonly files: TargetFiles;
  readonly ask: Ask;
  /** Whether it is more than a new database or an unfinished copy. */
  isUsed(): Promise<boolean>;
  /** Removes and inserts rows of one table, in one transaction. */
  change(table: Table, surplus: readonly Row[], missing: readonly Row[]): Promise<void>;
  /** Makes everything durable, and lets a server start on it. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

export const settingOf = async (ask: Ask, name: string): Promise<string | undefined> => {
  const [row] = await ask("select value from settings where name = $1", [name]);
  return row && String(row["value"]);
};

/** The fingerprint of the encryption key, which tells services apart. Throws for a database that no service has used. */
export async function vaultOf({ shown, ask }: Source): Promise<string> {
  if ((await settingOf(ask, copySetting)) !== undefined) throw new DatabaseError(shown, unfinished);
  const vault = await settingOf(ask, "vault");
  if (vault === undefined) throw new DatabaseError(shown, "no service has used it yet, so there is nothing to copy");
  return vault;
}
