import { existsSync } from "node:fs";
import { readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RepositoryName, StoredRepository } from "../../features/repositories/service.ts";
import { createRandom } from "../../kernel/random.ts";
import type { RefUpdate } from "./push-request.ts";
import { pushedBranches } from "./pushed-branches.ts";

/** The time of the last push. */
const noteIn = (path: string) => join(path, "pushed");

const textOf = (path: string) => readFile(path, "utf8").catch(() => "");
const namesIn = (path: string) => readdir(path).catch(() => []);

/** Reads a repository; undefined if nothing was pushed to it. */
async function readRepository(path: string, name: string): Promise<StoredRepository | undefined> {
  const packs = await namesIn(join(path, "objects/pack"));
  if (packs.length === 0) return undefined;
  const sizes = packs.map((pack) => stat(join(path, "objects/pack", pack)).then(({ size }) => size));
  const [, branch] = /^ref: refs\/heads\/(.+)$/m.exec(await textOf(join(path, "HEAD"))) ?? [];
  const isThere =
    branch !== undefined &&
    (existsSync(join(path, "refs/heads", branch)) ||
      (await textOf(join(path, "packed-refs"))).split("\n").some((line) => line.endsWith(` refs/heads/${branch}`)));
  return {
    name,
    default_branch: isThere ? branch : null,
    // A pack may have been merged into another.
    size: (await Promise.allSettled(sizes)).reduce((sum, one) => sum + (one.status === "fulfilled" ? one.value : 0), 0),
    pushed_at: (await textOf(noteIn(path))) || null,
  };
}

async function readRepositories(folder: string): Promise<StoredRepository[]> {
  const repositories: StoredRepository[] = [];
  for (const owner of (await namesIn(folder)).sort())
    for (const file of (await namesIn(join(folder, owner))).sort()) {
      const [, repo] = /^(.+)\.git$/.exec(file) ?? [];
      const one = repo && (await readRepository(join(folder, owner, file), `${owner}/${repo}`));
      if (one) repositories.push(one);
    }
  return repositories;
}

/** Reads and changes repositories for callers. */
export const storedRepositories = ({
  folder,
  pathOf,
  read,
}: {
  readonly folder: string;
  readonly pathOf: (name: RepositoryName) => string;
  readonly read: (path: string, ...args: string[]) => Promise<string | undefined>;
}) => ({
  async pushed(name: RepositoryName, updates: readonly RefUpdate[], at: string) {
    // Even on a full disk, or if the repository was removed, the push must deploy.
    await writeFile(noteIn(pathOf(name)), at).catch(() => {});
    return pushedBranches((...args) => read(pathOf(name), ...args), updates);
  },

  list: (organization_id: string) => readRepositories(join(folder, organization_id)),

  get: (name: RepositoryName) => readRepository(pathOf(name), name.repo.toLowerCase()),

  branches: async (name: RepositoryName): Promise<readonly string[]> =>
    (await read(pathOf(name), "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"))?.split("\n") ?? [],

  setDefaultBranch: async (name: RepositoryName, branch: string): Promise<boolean> =>
    (await read(pathOf(name), "symbolic-ref", "HEAD", `refs/heads/${branch}`)) !== undefined,

  /** Removes a repository. The rename comes first, so that no push finds a part of it. */
  async remove(name: RepositoryName): Promise<void> {
    const half = `${pathOf(name)}.${createRandom().alphanumeric(16)}.half`;
    await rename(pathOf(name), half);
    await rm(half, { recursive: true, force: true });
  },
});
