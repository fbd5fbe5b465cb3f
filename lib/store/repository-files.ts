import { chmodSync, copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "./database-error.ts";
import { isPostgres } from "./database-url.ts";

/** The folder beside a database for the git repositories that are pushed to the service. */
export const repositoryFolderOf = (path: string) => `${path}-repositories`;

/** The repository folder of a server: beside its database file, or in the apps folder with PostgreSQL. */
export const repositoryFolderFor = (database: string, appsFolder: string) =>
  isPostgres(database) ? join(appsFolder, "repositories") : repositoryFolderOf(database);

/**
 * Matches unfinished files in a folder of `organization/owner/repository/…`: git is still writing them, or a killed
 * push left them behind. Owners and branches may have names like these.
 */
function unfinishedIn(place: string): RegExp | undefined {
  const [, owner, repository, inside] = place.split("/");
  if (repository === undefined) return owner === undefined ? undefined : /\.half$/;
  return inside === undefined || inside === "objects" ? /^(tmp_|\.tmp-)|\.lock$/ : /\.lock$/;
}

/** Whether git has just removed a file or folder, or replaced one by the other. */
const isGone = (error: unknown) => ["ENOENT", "ENOTDIR", "EISDIR"].includes(codeOf(error));

interface Entry {
  readonly name: string;
  readonly isUtf8: boolean;
  readonly isFile: boolean;
  readonly isFolder: boolean;
}

function entriesOf(folder: string): Entry[] {
  try {
    return readdirSync(folder, "buffer").flatMap((bytes) => {
      const name = bytes.toString();
      const path = Buffer.concat([Buffer.from(`${folder}/`), bytes]);
      const found = lstatSync(path, { throwIfNoEntry: false });
      const isUtf8 = Buffer.from(name).equals(bytes);
      return found ? [{ name, isUtf8, isFile: found.isFile(), isFolder: found.isDirectory() }] : [];
    });
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

const packs = /(^|\/)objects\/pack$/;

/**
 * Copies the repositories during pushes, and returns the names of the copied files. A push stores its objects before it
 * moves a ref, and objects are never removed. So if refs are copied first, all objects that they need exist. If git
 * repacks during the copy, the pack folder is copied again: git creates the new pack before it removes the old ones.
 * `unread` gets a sentence for each branch that cannot be copied.
 */
export function copyRepositories(from: string, to: string, unread: (sentence: string) => void): string[] {
  if (!existsSync(from)) return [];
  const copied = new Set<string>();
  const copy = (names: readonly string[], place: string): boolean => {
    let isWhole = true;
    for (const name of names) {
      const path = join(place, name);
      try {
        copyFileSync(join(from, path), join(to, path));
      } catch (error) {
        // A ref or a pack has just been deleted.
        if (!isGone(error)) throw error;
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
    const unfinished = unfinishedIn(place);
    const entries = entriesOf(join(from, place))
      .filter(({ name, isUtf8 }) => {
        if (!isUtf8) unread(`${join(place, name)} was not copied: its name is not UTF-8; push it under another name`);
        return isUtf8;
      })
      .filter(({ name }) => !unfinished?.test(name) && !(place === "" && name.startsWith(".")))
      .sort((a, b) => Number(a.name === "objects") - Number(b.name === "objects") || (a.name < b.name ? -1 : 1));
    const isWhole = copy(
      entries.filter((one) => one.isFile).map(({ name }) => name),
      place,
    );
    if (!isWhole && packs.test(place)) walk(place);
    else for (const { name } of entries.filter((one) => one.isFolder)) walk(join(place, name));
  };
  walk("");
  return [...copied];
}
