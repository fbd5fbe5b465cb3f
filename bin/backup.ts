import { existsSync } from "node:fs";
import type { ArgsDef } from "citty";
import { parseSeed } from "../lib/config/seed.ts";
import { createService } from "../lib/service.ts";
import { backup as copy, restore as putBack } from "../lib/store/backup.ts";
import { databaseOf, readJson } from "./arguments.ts";
import { command, counted, json, lostOf, say } from "./command.ts";

const database: ArgsDef = {
  database: { type: "string", description: "The database file (./svc-data).", valueHint: "PATH" },
};
const force: ArgsDef = { force: { type: "boolean", description: "Write over what is there already." } };

/** What a copy lacks, after the sentence that tells of it. */
const withoutFiles = (lost: readonly string[]) =>
  lost.length > 0 ? `\nBut ${lostOf(lost)}: their links answer 404.` : "";

export const backup = command(
  "backup",
  "Copy the database, its key file and its files while the server runs, and check the copy.",
  {
    file: { type: "positional", description: "Where the copy goes; its key is FILE.key." },
    ...database,
    ...force,
    ...json,
  },
  async (args) => {
    const file = String(args["file"]);
    const { lost } = await copy(databaseOf(args), file, { force: args["force"] === true });
    const key = `${file}.key`;
    say(
      args["json"]
        ? JSON.stringify({ file, key, lost_files: lost })
        : `${file} is a whole copy. ${key} opens its secrets: keep it apart.${withoutFiles(lost)}`,
    );
  },
);

export const restore = command(
  "restore",
  "Put a backup in the place of the database. Stop the server first.",
  { file: { type: "positional", description: "The copy; its key is FILE.key." }, ...database, ...force, ...json },
  async (args) => {
    const to = databaseOf(args);
    const { lost } = putBack(String(args["file"]), to, { force: args["force"] === true });
    say(
      args["json"]
        ? JSON.stringify({ database: to, lost_files: lost })
        : `${to} is restored; start the server on it.${withoutFiles(lost)}`,
    );
  },
);

export const seed = command(
  "seed",
  "Check a seed file, or make a new database of it with --database.",
  {
    file: { type: "positional", description: "The seed, in JSON; schema/seed.schema.json describes it." },
    database: { type: "string", description: "The database to make; it must not exist yet.", valueHint: "PATH" },
    ...json,
  },
  async (args) => {
    const given = readJson(String(args["file"]), "seed");
    const { organizations } = parseSeed(given);
    const counts = {
      organizations: organizations.length,
      users: organizations.flatMap(({ users = [] }) => users).length,
      projects: organizations.flatMap(({ projects = [] }) => projects).length,
    };
    const path = args["database"];
    if (path !== undefined) {
      if (existsSync(String(path))) throw new Error(`the database ${path} is there already; a seed fills a new one`);
      // The seed was read above, by the same rules.
      const service = await createService({ mode: "start", database: String(path), seed: given as never });
      await service.close();
    }
    const sum = Object.entries(counts)
      .map(([what, count]) => counted(count, what))
      .join(", ");
    say(
      args["json"]
        ? JSON.stringify({ ...counts, database: path ?? null })
        : `${path === undefined ? "The seed is right" : `${path} is made`}: ${sum}.`,
    );
  },
);
