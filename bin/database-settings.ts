import { BadOptions, parseOptions, type Settings } from "../lib/config/parse-options.ts";
import { isPostgres } from "../lib/store/database-url.ts";
import { fromEnvironment, UsageError } from "./arguments.ts";
import type { Given } from "./define-command.ts";
import { option } from "./define-command.ts";

export const keyFileArg = option(
  "A file with the encryption key of a PostgreSQL database. SVC_ENCRYPTION_KEY can hold the key itself.",
  "PATH",
);

/** The value of an option, or of its variable such as `SVC_KEY_FILE`. */
export const givenValue = (args: Given, name: string): string | undefined =>
  args[name] === undefined ? fromEnvironment(`SVC_${name.replace("-", "_").toUpperCase()}`) : String(args[name]);

const names: Readonly<Record<string, string>> = { encryptionKey: "SVC_ENCRYPTION_KEY", keyFile: "option --key-file" };

/**
 * The options of a server for this database. A database file has its key next to it, so variables with a key are
 * ignored.
 */
export function settingsOf(database: string, args: Given): Settings {
  const key = isPostgres(database)
    ? { encryptionKey: fromEnvironment("SVC_ENCRYPTION_KEY"), keyFile: givenValue(args, "key-file") }
    : { keyFile: args["key-file"] };
  try {
    return parseOptions({ mode: "start", database, ...key });
  } catch (error) {
    if (!(error instanceof BadOptions)) throw error;
    throw new UsageError(`${names[error.path] ?? `the ${error.path}`} ${error.rule}`);
  }
}
