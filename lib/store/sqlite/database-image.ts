import type { Database, Statement } from "better-sqlite3";
import type { Tables } from "../tables.ts";
import { openRaw, queryBuilder } from "./connection.ts";

/** A database as bytes. Several in-memory databases may share one image, so it must not be modified. */
export function imageOf(database: Database): Buffer {
  const image = database.serialize();
  // Bytes 18 and 19 of the header mark WAL mode, which SQLite refuses for an in-memory database.
  return image.fill(1, 18, 20);
}

/** Changes with every write of this connection, and with every commit of another process. */
const writeCount = "select total_changes() || ' ' || data_version from pragma_data_version";

/** Returns a function that returns the current image. It is cached while the database is unchanged. */
export function imagesOf(current: () => Database): () => Buffer {
  let statement: Statement | undefined;
  let cached: { readonly at: unknown; readonly image: Buffer } | undefined;
  return () => {
    const database = current();
    if (statement?.database !== database) {
      statement = database.prepare(writeCount).pluck();
      cached = undefined;
    }
    const at = statement.get();
    if (!cached || cached.at !== at) cached = { at, image: imageOf(database) };
    return cached.image;
  };
}

const tables =
  "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and name <> 'migrations'";

/** Replaces all rows of a database with those of an image of the same schema, in one transaction. */
export function replaceRows(database: Database, image: Buffer): void {
  const source = openRaw(image);
  const names = source.prepare(tables).pluck().all() as (keyof Tables)[];
  const replace = database.transaction(() => {
    database.pragma("defer_foreign_keys = ON");
    // Empty all tables first: a later delete would cascade to rows already inserted.
    for (const name of names) database.prepare(queryBuilder.deleteFrom(name).compile().sql).run();
    for (const name of names) {
      const rows = source.prepare(queryBuilder.selectFrom(name).selectAll().compile().sql);
      const shape = Object.fromEntries(rows.columns().map((column) => [column.name, null]));
      const insert = database.prepare(queryBuilder.insertInto(name).values(shape).compile().sql);
      for (const row of rows.raw().iterate()) insert.run(row);
    }
  });
  try {
    replace.immediate();
  } finally {
    source.close();
  }
}
