import { existsSync } from "node:fs";
import { parseSeed } from "../lib/config/seed.ts";
import { createService } from "../lib/service.ts";
import { isPostgres } from "../lib/store/database-url.ts";
import { pathIn, readSeed, UsageError } from "./arguments.ts";
import { command, json, option, word } from "./define-command.ts";
import { counted, sayResult } from "./output.ts";

export const seed = command(
  "seed",
  "Without --database it only checks the file.",
  {
    file: word("The seed, as JSON, or demo. schema/seed.schema.json describes it."),
    database: option("The database to create. It must not exist yet.", "PATH"),
    ...json,
  },
  async (args) => {
    const given = readSeed(String(args["file"]));
    const { organizations } = parseSeed(given);
    const counts = {
      organizations: organizations.length,
      users: organizations.flatMap(({ users = [] }) => users).length,
      projects: organizations.flatMap(({ projects = [] }) => projects).length,
    };
    const path = pathIn(args, "database");
    if (path !== undefined) {
      if (isPostgres(path))
        throw new UsageError("option --database must be a file; on PostgreSQL, start a server with --seed FILE");
      if (existsSync(path)) throw new Error(`the database ${path} already exists; name a new file`);
      // parseSeed has already validated it.
      const service = await createService({ mode: "start", database: path, seed: given as never });
      await service.close();
    }
    const sum = Object.entries(counts)
      .map(([what, count]) => counted(count, what))
      .join(", ");
    const done = path === undefined ? "The seed is valid" : `${path} was created`;
    sayResult(args, { ...counts, database: path ?? null }, `${done}: ${sum}.`);
  },
);
