import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { plainFiles } from "../box/tenant-files.ts";
import { folderBytes } from "./disk.ts";
import { createOneAtATime } from "./one-at-a-time.ts";

export type ProjectCaches = ReturnType<typeof createProjectCaches>;

/**
 * The caches of a project: its fetched commits, and the packages of each environment. A build writes files there that
 * the next one runs, so a preview must not write for production.
 */
export function createProjectCaches(folder: string, files = () => plainFiles) {
  const packagesOf = (project_id: string, environment: string) => join(folder, project_id, `packages-${environment}`);
  const builds = new Map<string, number>();
  const oneAtATime = createOneAtATime();

  /** Empties a full packages folder, unless another build uses it. */
  const begin = async (packages: string, max_bytes: number): Promise<number> => {
    const stored = await folderBytes(packages, max_bytes);
    const empties = stored > max_bytes && builds.get(packages) === 1;
    if (empties) await files().remove(packages);
    await mkdir(packages, { recursive: true });
    if (empties) return 0;
    return stored > max_bytes ? folderBytes(packages) : stored;
  };

  return {
    folder,

    /** Removes the caches of a project, or the packages of one environment. */
    remove: (project_id: string, environment?: string) =>
      files().remove(environment === undefined ? join(folder, project_id) : packagesOf(project_id, environment)),

    names: async () => (existsSync(folder) ? readdir(folder) : []),

    async withPackages<T>(
      { project_id, environment }: { readonly project_id: string; readonly environment: string },
      max_bytes: number,
      build: (packages: string, stored_bytes: number) => Promise<T>,
    ): Promise<T> {
      const packages = packagesOf(project_id, environment);
      const count = (change: 1 | -1) => builds.set(packages, (builds.get(packages) ?? 0) + change);
      count(1);
      try {
        // A build waits while the folder is being emptied.
        const stored_bytes = await oneAtATime(packages, () => begin(packages, max_bytes));
        return await build(packages, stored_bytes);
      } finally {
        count(-1);
        if (builds.get(packages) === 0) builds.delete(packages);
      }
    },
  };
}
