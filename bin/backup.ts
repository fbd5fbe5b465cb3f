import type { ArgsDef } from "citty";
import { pathOf } from "../lib/kernel/text/paths.ts";
import { backup as copyDatabase, restore as restoreDatabase } from "../lib/store/transfer/backup.ts";
import { databaseFileOf, EndedWith } from "./arguments.ts";
import { command, flag, json, option, word } from "./define-command.ts";
import { describeLost, sayResult } from "./output.ts";
import { withProgress } from "./progress.ts";

const target: ArgsDef = {
  database: option("The database file (./svc-data).", "PATH"),
};
const force: ArgsDef = { force: flag("Overwrite existing files.") };

/** A sentence about files that the copy lacks; empty if it is complete. */
const missingFiles = (lost: readonly string[]) =>
  lost.length > 0 ? `\nBut ${describeLost(lost)}: their links answer 404.` : "";

/** If app data is missing in the copy, the command fails after copying the rest. */
const incomplete = (unread: readonly string[]) => {
  if (unread.length > 0) throw new EndedWith(1, unread.join("\nsvc-server: "));
};

const lines = (warnings: readonly string[]) => warnings.map((warning) => `\nWarning: ${warning}.`).join("");

export const backup = command(
  "backup",
  "The copy is checked. The server may be running.",
  {
    file: word("The file to write; its key is written to FILE.key, its checksums to FILE.sha256."),
    ...target,
    ...force,
    ...json,
  },
  async (args) => {
    const file = pathOf(String(args["file"]));
    const database = databaseFileOf(args, (url) => `pg_dump --format=custom --file=${file} ${url}`);
    const { lost, warnings, unread } = await withProgress((report) =>
      copyDatabase(database, file, { force: args["force"] === true, report }),
    );
    const key = `${file}.key`;
    sayResult(
      args,
      { file, key, lost_files: lost, warnings: [...warnings, ...unread] },
      `${file} is ${unread.length > 0 ? "a copy that lacks data of apps or branches" : "a complete copy"}. ${key} decrypts its secrets: keep it separate from the backup.${missingFiles(lost)}${lines(warnings)}`,
    );
    incomplete(unread);
  },
);

export const restore = command(
  "restore",
  "The backup is checked first. A database that exists is replaced only with --force. Stop its server before.",
  { file: word("The backup; its key is in FILE.key."), ...target, ...force, ...json },
  async (args) => {
    const file = pathOf(String(args["file"]));
    const to = databaseFileOf(args, (url) => `pg_restore --clean --if-exists --dbname=${url} ${file}`);
    const { lost, warnings, unread } = await withProgress((report) =>
      restoreDatabase(file, to, { force: args["force"] === true, report }),
    );
    sayResult(
      args,
      { database: to, lost_files: lost, warnings: [...warnings, ...unread] },
      `${to} is restored${unread.length > 0 ? ", without some data of apps or branches" : ""}; start the server on it.${missingFiles(lost)}${lines(warnings)}`,
    );
    incomplete(unread);
  },
);
