import { basename } from "node:path";
import type { Client } from "../lib/client.ts";
import { didYouMean } from "../lib/kernel/text/did-you-mean.ts";
import { UsageError } from "./arguments.ts";

const minLength = 3;

/** Converts a name to a part of a repository name: letters and digits with single hyphens between them. */
export const partOf = (name: string): string =>
  name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 64)
    .replace(/^-|-$/g, "") || "app";

/** The name or id of the project: as given, else the name of the folder. */
export function projectOf(folder: string, given: unknown, how: string): string {
  if (given !== undefined) return String(given);
  const name = partOf(basename(folder));
  if (name.length < minLength)
    throw new UsageError(`the name of the folder, ${name}, is too short for a project; name one with ${how}`);
  return name;
}

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The project with this name. If there is none, calls `missing` with the names of all projects. */
export async function findProject<T>(client: Client, wanted: string, missing: (names: string[]) => T) {
  const names: string[] = [];
  for await (const { id, name } of client.paginate(client.projects.list, { per_page: 100 })) {
    if (name.toLowerCase() === wanted.toLowerCase()) return { id, name };
    names.push(name);
  }
  return missing(names);
}

/** The project with this name or id. `how` tells in an error how to name another project. */
export const requireProject = async (client: Client, wanted: string, how: string): Promise<Named> =>
  wanted.startsWith("proj_")
    ? client.projects.get({ id: wanted })
    : findProject(client, wanted, (names) => {
        throw new Error(
          `there is no project ${wanted}${didYouMean(wanted, names) || `; name it with ${how}, or create it: svc-server call projects.create region=local name=NAME`}`,
        );
      });
