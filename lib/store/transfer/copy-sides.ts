import type { Assets } from "../asset-files.ts";
import { DatabaseError } from "../database-error.ts";
import { copySetting, unfinished } from "./copy-mark.ts";
import type { Ask, Row, Table } from "./copy-tables.ts";

/** The rows and files of one side of a copy. */
export interface Side {
  readonly ask: Ask;
  readonly files: Pick<Assets, "names" | "find" | "store">;
}

/** The database to copy from. All reads see one snapshot. */
export interface Source extends Side {
  readonly shown: string;
  close(): Promise<void>;
}

/** The database to copy to, emptied. */
export interface Filled extends Side {
  insert(table: Table, rows: readonly Row[]): Promise<void>;
}

export interface Target {
  readonly shown: string;
  /** The existing content; undefined if empty, or if an earlier copy was not finished. */
  readonly used: Side | undefined;
  /** Whether an earlier copy into this database was not finished. */
  readonly isUnfinished: boolean;
  /**
   * Empties the database, then keeps all writes of `work` or none of them. No server can start on it until that is
   * done. After a kill, only another copy can continue.
   */
  fill<T>(work: (into: Filled) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export const settingOf = async (ask: Ask, name: string): Promise<string | undefined> => {
  const [row] = await ask("select value from settings where name = $1", [name]);
  return row && String(row["value"]);
};

/** The fingerprint of the encryption key, which identifies a service. Throws if no service has used the database. */
export async function vaultOf({ shown, ask }: Source): Promise<string> {
  if ((await settingOf(ask, copySetting)) !== undefined) throw new DatabaseError(shown, unfinished);
  const vault = await settingOf(ask, "vault");
  if (vault === undefined) throw new DatabaseError(shown, "no service has used it yet, so there is nothing to copy");
  return vault;
}
