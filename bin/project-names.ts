import { basename } from "node:path";
import type { Client } from "../lib/client.ts";
import { didYouMean } from "../lib/kernel/did-you-mean.ts";
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

/** The name or id of the project of a folder: the given one, else the name of the folder. */
export function projectOf(folder: string, given: unknown): string {
  if (given !== undefined) return String(given);
  const name = partOf(basename(folder));
  if (name.length < shortestName)
    throw new UsageError(`the name of the folder, ${name}, is too short for a project; name one with --project`);
  return name;
}

/** Finds a project by its name or id. */
export async function findProject(client: Client, wanted: string): Promise<{ id: string; name: string }> {
  if (wanted.startsWith("proj_")) return client.projects.get({ id: wanted });
  const names: string[] = [];
  for await (const project of client.paginate(client.projects.list, { per_page: 100 })) {
    if (project.name.toLowerCase() === wanted.toLowerCase()) return project;
    names.push(project.name);
  }
  throw new Error(
    `there is no project ${wanted}${didYouMean(wanted, names) || "; name it with --project, or create it: svc-server call projects.create region=local name=NAME"}`,
  );
}
