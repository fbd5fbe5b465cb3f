import type { ArgsDef } from "citty";
import { type Admin, openAdmin } from "../lib/app/offline-admin.ts";
import { asDatabaseError } from "../lib/store/database-error.ts";
import { databaseOf, UsageError } from "./arguments.ts";
import { type Given, json } from "./define-command.ts";

export const inMemory = ":memory:";

/** Options of the commands that work on a database file and need no server. */
export const databaseArgs: ArgsDef = {
  database: {
    type: "string",
    description: "The database file (./svc-data). A server may be running on it.",
    valueHint: "PATH",
  },
  organization: {
    type: "string",
    description: "The name of the organization. Without it, the first one.",
    valueHint: "NAME",
  },
  ...json,
};

/** Opens the database for `work`, and closes it. Refuses a database in memory. */
export async function withAdmin(args: Given, work: (admin: Admin) => Promise<void>): Promise<void> {
  const database = databaseOf(args);
  if (database === inMemory)
    throw new UsageError("option --database must be a file; a database in memory belongs to its server alone");
  const admin = await openAdmin(database);
  try {
    await work(admin);
  } catch (error) {
    throw asDatabaseError(database, error);
  } finally {
    await admin.close();
  }
}
