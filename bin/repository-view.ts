import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Git } from "./git.ts";

/** A repository as git can read it without its settings and hooks, which may name programs. It is never written. */
export interface RepositoryView {
  readonly top: string;
  readonly objects: string;
  readonly env: Readonly<Record<string, string>>;
}

const parts = /^(HEAD|index|sharedindex\.\w+|packed-refs|refs|reftable|objects|shallow|info)$/;
/** The settings that git needs to read the parts and the working tree. */
const formats = "^(core\\.(filemode|ignorecase|symlinks|autocrlf|eol)|extensions\\.(refstorage|objectformat))$";

/** The repository at a folder's `.git`: its own folder, and the one that it shares with other working trees. */
function repositoryAt(folder: string): { own: string; shared: string } | undefined {
  const place = join(folder, ".git");
  try {
    const [, named] = statSync(place).isFile() ? (/^gitdir: (.+)$/m.exec(readFileSync(place, "utf8")) ?? []) : [];
    const own = resolve(folder, named ?? place);
    const pointer = join(own, "commondir");
    const shared = existsSync(pointer) ? resolve(own, readFileSync(pointer, "utf8").trim()) : own;
    return existsSync(join(own, "HEAD")) && existsSync(join(shared, "objects")) ? { own, shared } : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined if the folder belongs to no repository. */
export async function viewRepository(git: Git, folder: string, to: string): Promise<RepositoryView | undefined> {
  if (existsSync(join(folder, ".git")) && !repositoryAt(folder))
    throw new Error(
      `${folder} cannot be read: not a git repository, although it has .git; to deploy its files, remove .git`,
    );
  let top = realpathSync(folder);
  while (!repositoryAt(top) && dirname(top) !== top) top = dirname(top);
  const found = repositoryAt(top);
  if (!found) return undefined;
  const { own, shared } = found;
  mkdirSync(to);
  const places = [shared, own].flatMap((from) =>
    readdirSync(from)
      .filter((name) => parts.test(name))
      .map((name) => [name, join(from, name)] as const),
  );
  // HEAD is copied, because git would read a link as the name of a branch.
  for (const [name, path] of new Map(places))
    if (name === "HEAD") copyFileSync(path, join(to, name));
    else symlinkSync(path, join(to, name));
  const { stdout } = await git(["config", "--file", join(shared, "config"), "-z", "--get-regexp", formats]);
  const entries = stdout.split("\0").map((entry) => entry.split(/[.\n]/));
  const settings = entries
    .filter((parts) => parts.length === 3 && parts.every((part) => /^\w+$/.test(part)))
    .map(([group, name, value]) => `[${group}] ${name} = ${value}\n`);
  writeFileSync(join(to, "config"), ["[core] repositoryformatversion = 1\n", ...settings].join(""));
  return { top, objects: join(shared, "objects"), env: { GIT_DIR: to, GIT_WORK_TREE: top } };
}
