import type { Assets } from "./asset-files.ts";
import { copySetting, unfinished } from "./copy-mark.ts";
import type { Ask, Row, Table } from "./copy-tables.ts";
import { DatabaseError } from "./database-error.ts";

/** Rows and files to read. */
export interface Side {
  readonly ask: Ask;
  readonly files: Pick<Assets, "names" | "find" | "store">;
}

/** A database that is copied: everything is read from one snapshot. */
export interface Source extends Side {
  /** Its name for people. */
  readonly shown: string;
  close(): Promise<void>;
}

/** The empty database to write. */
export interface Filled extends Side {
  insert(table: Table, rows: readonly Row[]): Promise<void>;
}

export interface Target {
  readonly shown: string;
  /** A sentence about its content, unless it is empty or holds an unfinished copy. */
  readonly used: Side | undefined;
  /** Whether an earlier copy into it was not finished. */
  readonly isUnfinished: boolean;
  /**
   * Empties it, and keeps either everything that `work` writes, durably, or nothing. Until then no server starts on it:
   * after a kill, only another copy does.
   */
  fill<T>(work: (into: Filled) => Promise<T>): Promise<T>;
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
