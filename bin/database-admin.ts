import type { ArgsDef } from "citty";
import { type Admin, openAdmin } from "../lib/composition/offline-admin.ts";
import { asDatabaseError, DatabaseError } from "../lib/store/database-error.ts";
import { isMissing, withoutPassword } from "../lib/store/database-url.ts";
import { databaseOf, UsageError } from "./arguments.ts";
import { keyFileArg, settingsOf } from "./database-settings.ts";
import { type Given, json, option } from "./define-command.ts";

const inMemory = ":memory:";

/** Options of commands that work directly on a database file, without a server. */
export const databaseArgs: ArgsDef = {
  database: option(
    "The database file (./svc-data), or the URL of a PostgreSQL database. A server may be running on it.",
    "PATH|URL",
  ),
  "key-file": keyFileArg,
  organization: option("The name of the organization. Without it, the first one.", "NAME"),
  ...json,
};

/**
 * Opens the database for `work` and closes it afterwards. Refuses an in-memory database and names the equivalent call
 * to its server.
 */
export async function withAdmin(
  args: Given,
  throughServer: string,
  work: (admin: Admin) => Promise<void>,
): Promise<void> {
  const database = databaseOf(args);
  if (database === inMemory)
    throw new UsageError(
      `option --database must be a file; only its own server can use a database in memory: ${throughServer}`,
    );
  const settings = settingsOf(database, args);
  if (isMissing(database))
    throw new DatabaseError(
      database,
      `it does not exist; name it with --database. A server in memory (svc-server dev) has no file: ${throughServer}`,
    );
  const admin = await openAdmin(settings);
  try {
    await work(admin);
  } catch (error) {
    throw asDatabaseError(withoutPassword(database), error);
  } finally {
    await admin.close();
  }
}
