import { describeDatabase, withoutPassword } from "../lib/store/database-url.ts";
import { migrateDatabase } from "../lib/store/migrate-database.ts";
import { databaseOf, UsageError } from "./arguments.ts";
import { command, json, option } from "./define-command.ts";
import { sayResult } from "./output.ts";

export const migrate = command(
  "migrate",
  "Servers with --migrate false leave this to you. The server on a database file must be stopped; on PostgreSQL, servers may be running.",
  {
    database: option("The database file (./svc-data), or the URL of a PostgreSQL database.", "PATH|URL"),
    ...json,
  },
  async (args) => {
    const database = databaseOf(args);
    if (database === ":memory:")
      throw new UsageError("option --database must be a file or a URL: a server in memory makes its own tables");
    const { from, to } = await migrateDatabase(database);
    const name = withoutPassword(database);
    const done = from === 0 ? `has its tables now (schema ${to})` : `was updated from schema ${from} to ${to}`;
    const text = `${describeDatabase(database)} ${from === to ? `is up to date (schema ${to})` : done}.`;
    sayResult(args, { database: name, from, to }, text);
  },
);
