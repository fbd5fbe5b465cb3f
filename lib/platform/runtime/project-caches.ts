import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { plainFiles } from "../box/tenant-files.ts";
import { folderBytes } from "./disk.ts";

export type ProjectCaches = ReturnType<typeof createProjectCaches>;

/**
 * Each project has two caches: its fetched commits, and the packages of its builds. Each environment has its own
 * packages, because a build writes files there that the next build runs: a preview must not write for production.
 */
export function createProjectCaches(folder: string, files = () => plainFiles) {
  const packagesOf = (project_id: string, environment: string) => join(folder, project_id, `packages-${environment}`);
  /** For each packages folder, the number of builds that use it and the latest start. */
  const builds = new Map<string, { count: number; last: Promise<unknown> }>();

  /** Empties a full packages folder, unless another build uses it. */
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

    /** Runs a build with the packages folder of its environment. Passes the folder's current size in bytes. */
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
        // Serialized: a build waits while the folder is being emptied.
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
