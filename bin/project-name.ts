import { basename } from "node:path";
import type { Client } from "../lib/client.ts";
import { UsageError } from "./arguments.ts";

/** The minimum length of a project's name. */
const shortestName = 3;

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
  const wanted = given === undefined ? partOf(basename(folder)) : String(given);
  if (given === undefined && wanted.length < shortestName)
    throw new UsageError(`the name of the folder, ${wanted}, is too short for a project; name one with ${how}`);
  return wanted;
}

/** The id of the project with this name; undefined if there is none. */
export async function findProject(client: Client, project: string): Promise<string | undefined> {
  for await (const { id, name } of client.paginate(client.projects.list, { per_page: 100 }))
    if (name.toLowerCase() === project.toLowerCase()) return id;
  return undefined;
}
