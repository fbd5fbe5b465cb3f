import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { plainFiles } from "../box/tenant-files.ts";
import { folderBytes } from "./disk.ts";

export type ProjectCaches = ReturnType<typeof createProjectCaches>;

/**
 * Two caches for each project: its fetched commits, and the packages of its builds. Each environment has its own packages: a
 * build writes files there that the next one runs, and a preview must not write for production.
 */
export function createProjectCaches(folder: string, files = () => plainFiles) {
  const packagesOf = (project_id: string, environment: string) => join(folder, project_id, `packages-${environment}`);
  /** The number of builds that use a folder of packages, and the latest of them. */
  const builds = new Map<string, { count: number; last: Promise<unknown> }>();

  /** Empties a folder of packages that is full, unless another build reads and writes there. */
  const begin = async (packages: string, most_bytes: number, isAlone: () => boolean): Promise<number> => {
    const stored = await folderBytes(packages, most_bytes);
    const empties = stored > most_bytes && isAlone();
    if (empties) await files().remove(packages);
    await mkdir(packages, { recursive: true });
    if (empties) return 0;
    return stored > most_bytes ? folderBytes(packages) : stored;
  };

  return {
    folder,

    /** Removes the caches of a project, or the packages of one environment. */
    remove: (project_id: string, environment?: string) =>
      files().remove(environment === undefined ? join(folder, project_id) : packagesOf(project_id, environment)),

    /** The projects that have caches. */
    names: async () => (existsSync(folder) ? readdir(folder) : []),

    /** Runs a build with the packages of its environment, and with the bytes that lie there already. */
    async withPackages<T>(
      { project_id, environment }: { readonly project_id: string; readonly environment: string },
      most_bytes: number,
      build: (packages: string, stored_bytes: number) => Promise<T>,
    ): Promise<T> {
      const packages = packagesOf(project_id, environment);
      const its = builds.get(packages) ?? { count: 0, last: Promise.resolve() };
      builds.set(packages, its);
      its.count += 1;
      try {
        // One after another: a build that starts while the folder is being emptied waits.
        const begun = its.last.then(() => begin(packages, most_bytes, () => its.count === 1));
        its.last = begun.catch(() => {});
        return await build(packages, await begun);
      } finally {
        its.count -= 1;
        if (its.count === 0) builds.delete(packages);
      }
    },
  };
}
