import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { folderBytes } from "./disk.ts";

export type ProjectCaches = ReturnType<typeof createProjectCaches>;

/** For each project a folder with its caches: the commits that were fetched, and the packages of its builds. */
export function createProjectCaches(folder: string) {
  const forget = (project_id: string) => rm(join(folder, project_id), { recursive: true, force: true, maxRetries: 3 });
  /** How many builds use the packages of a project, and the last of them that has begun. */
  const builds = new Map<string, { count: number; last: Promise<unknown> }>();

  /** Empties a folder of packages that is full, unless another build reads and writes there. */
  const begin = async (packages: string, most_bytes: number, isAlone: () => boolean): Promise<number> => {
    const stored = await folderBytes(packages, most_bytes);
    const empties = stored > most_bytes && isAlone();
    if (empties) await rm(packages, { recursive: true, maxRetries: 3 });
    await mkdir(packages, { recursive: true });
    if (empties) return 0;
    return stored > most_bytes ? folderBytes(packages) : stored;
  };

  return {
    folder,
    forget,

    /** Removes the caches of projects that are gone. */
    async removeOthers(keeps: (project_id: string) => Promise<boolean>): Promise<void> {
      await mkdir(folder, { recursive: true });
      for (const name of await readdir(folder)) if (!(await keeps(name))) await forget(name);
    },

    /** Runs a build with the packages of its project, and with the bytes that lie there already. */
    async withPackages<T>(
      project_id: string,
      most_bytes: number,
      build: (packages: string, stored_bytes: number) => Promise<T>,
    ): Promise<T> {
      const packages = join(folder, project_id, "packages");
      const its = builds.get(project_id) ?? { count: 0, last: Promise.resolve() };
      builds.set(project_id, its);
      its.count += 1;
      try {
        // One after the other: a build that comes while the folder is emptied waits for that.
        const begun = its.last.then(() => begin(packages, most_bytes, () => its.count === 1));
        its.last = begun.catch(() => {});
        return await build(packages, await begun);
      } finally {
        its.count -= 1;
        if (its.count === 0) builds.delete(project_id);
      }
    },
  };
}
