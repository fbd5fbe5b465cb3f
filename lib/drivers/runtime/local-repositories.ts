import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";

const isRepository = (path: string): boolean => existsSync(join(path, ".git")) || existsSync(join(path, "HEAD"));

/** Where a repository lies in a folder: `DIR/owner/repo` or `DIR/repo`, bare or a working copy. */
export function repositoryIn(folder: string, repo: string): string | undefined {
  const [, name = ""] = repo.split("/");
  return [repo, `${repo}.git`, name, `${name}.git`].map((one) => resolve(folder, one)).find(isRepository);
}

const foldersIn = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^[\w-][\w.-]*$/.test(entry.name))
    .map(({ name }) => name)
    .sort();

/** The first repository of a folder as a source names it; undefined for a folder without one, or that cannot be read. */
export function firstRepositoryIn(folder: string): string | undefined {
  try {
    for (const name of foldersIn(folder)) {
      const found = isRepository(join(folder, name))
        ? `acme/${name}`
        : foldersIn(join(folder, name)).find((one) => isRepository(join(folder, name, one)));
      if (found !== undefined) return (found.includes("/") ? found : `${name}/${found}`).replace(/\.git$/, "");
    }
  } catch {
    // The banner has another example.
  }
  return undefined;
}
