import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";

const isRepository = (path: string): boolean => existsSync(join(path, ".git")) || existsSync(join(path, "HEAD"));

/** The path of a repository in a folder: `DIR/owner/repo` or `DIR/repo`, bare or a working copy. */
export function repositoryIn(folder: string, repo: string): string | undefined {
  const [, name = ""] = repo.split("/");
  return [repo, `${repo}.git`, name, `${name}.git`].map((one) => resolve(folder, one)).find(isRepository);
}

const foldersIn = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^[\w-][\w.-]*$/.test(entry.name))
    .map(({ name }) => name)
    .sort();

/** The name of the first repository in a folder, in the form that sources use; undefined if there is none. */
export function firstRepositoryIn(folder: string): string | undefined {
  try {
    for (const name of foldersIn(folder)) {
      const repo = isRepository(join(folder, name))
        ? `acme/${name}`
        : foldersIn(join(folder, name)).find((one) => isRepository(join(folder, name, one)));
      if (repo !== undefined) return (repo.includes("/") ? repo : `${name}/${repo}`).replace(/\.git$/, "");
    }
  } catch {
    // The banner then shows a different example.
  }
  return undefined;
}
