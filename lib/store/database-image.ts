import type { Database, Statement } from "better-sqlite3";
import { openRaw, queryBuilder } from "./sqlite.ts";
import type { Tables } from "./tables.ts";

/** A whole database as bytes, which any number of databases in memory can begin with. Nobody may change them. */
export function imageOf(database: Database): Buffer {
  const image = database.serialize();
  // The two bytes that say whether it is in WAL mode, which a database in memory cannot be.
  return image.fill(1, 18, 20);
}

/** What this connection has written, and whether another one has: what a process beside the server does to its file. */
const changes = "select total_changes() || ' ' || data_version from pragma_data_version";

/** The image of a database whenever it is asked for. A state that has not changed since is not copied a second time. */
export function imagesOf(database: Database): () => Buffer {
  let read: Statement | undefined;
  let taken: { readonly at: unknown; readonly image: Buffer } | undefined;
  return () => {
    read ??= database.prepare(changes).pluck();
    const at = read.get();
    if (!taken || taken.at !== at) taken = { at, image: imageOf(database) };
    return taken.image;
  };
}

const tables =
  "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and name <> 'migrations'";

/** Gives a database the rows of an image of the same schema in one transaction: all of them, or none. */
export function replaceRows(database: Database, image: Buffer): void {
  const kept = openRaw(image);
  const names = kept.prepare(tables).pluck().all() as (keyof Tables)[];
  const replace = database.transaction(() => {
    database.pragma("defer_foreign_keys = ON");
    // All of them first: what is deleted later would take rows along that refer to it.
    for (const name of names) database.prepare(queryBuilder.deleteFrom(name).compile().sql).run();
    for (const name of names) {
      const rows = kept.prepare(queryBuilder.selectFrom(name).selectAll().compile().sql);
      const shape = Object.fromEntries(rows.columns().map((column) => [column.name, null]));
      const insert = database.prepare(queryBuilder.insertInto(name).values(shape).compile().sql);
      for (const row of rows.raw().iterate()) insert.run(row);
    }
  });
  try {
    replace.immediate();
  } finally {
    kept.close();
  }
}
