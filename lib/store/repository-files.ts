import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isPostgres } from "./database-url.ts";

/** The folder beside a database, which holds the git repositories that are pushed to the service. */
export const repositoryFolderOf = (path: string) => `${path}-repositories`;

/** The repositories of a server: beside its database file, else in the folder of its apps. */
export const repositoryFolderFor = (database: string, appsFolder: string) =>
  isPostgres(database) ? join(appsFolder, "repositories") : repositoryFolderOf(database);

/** Files that git is writing, or that a killed push left behind. */
const unfinished = /^(tmp_|\.tmp-)|\.lock$|\.half$/;
const packs = /(^|\/)objects\/pack$/;

/**
 * Copies the repositories while pushes go on, and returns the names of the copied files. A push stores its objects
 * before it moves a ref, and no objects are removed: so refs are copied first, and the objects that they need exist by
 * then. If packs were combined meanwhile, their folder is copied again: the new pack exists before the old ones are
 * removed.
 */
export function copyRepositories(from: string, to: string): string[] {
  if (!existsSync(from)) return [];
  const copied = new Set<string>();
  const copy = (names: readonly string[], place: string): boolean => {
    let isWhole = true;
    for (const name of names) {
      const path = join(place, name);
      try {
        copyFileSync(join(from, path), join(to, path));
      } catch (error) {
        // A ref was deleted meanwhile, or a pack.
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
        isWhole = false;
        continue;
      }
      chmodSync(join(to, path), 0o600);
      copied.add(path);
    }
    return isWhole;
  };
  const walk = (place: string) => {
    mkdirSync(join(to, place), { recursive: true, mode: 0o700 });
    const entries = readdirSync(join(from, place), { withFileTypes: true })
      .filter(({ name }) => !unfinished.test(name) && !(place === "" && name.startsWith(".")))
      .sort((a, b) => Number(a.name === "objects") - Number(b.name === "objects") || (a.name < b.name ? -1 : 1));
    const isWhole = copy(
      entries.filter((one) => one.isFile()).map(({ name }) => name),
      place,
    );
    if (!isWhole && packs.test(place)) walk(place);
    else for (const { name } of entries.filter((one) => one.isDirectory())) walk(join(place, name));
  };
  walk("");
  return [...copied];
}
