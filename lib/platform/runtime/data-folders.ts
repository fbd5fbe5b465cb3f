import { existsSync } from "node:fs";
import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "../../features/environments/live-apps.ts";
import { createRandom } from "../../kernel/random.ts";
import { plainFiles } from "../box/tenant-files.ts";

/** Needed because an environment may be named `..`. */
const prefix = "of-";
/** The prefix for a deleted environment, whose folder remains until its apps have ended. */
const retired = "gone-";

export type DataFolders = ReturnType<typeof createDataFolders>;

/** The data folders of apps. Each lasts as long as its environment. */
export function createDataFolders(folder: string, files = () => plainFiles) {
  const pathOf = ({ project_id, environment }: Environment) => join(folder, project_id, prefix + environment);
  return {
    async open(key: Environment, user: number | undefined): Promise<string> {
      const path = pathOf(key);
      await mkdir(path, { recursive: true, mode: 0o700 });
      await files().own(path, user);
      return path;
    },

    bytes: async (key: Environment): Promise<number | undefined> =>
      existsSync(pathOf(key)) ? files().bytes(pathOf(key)) : undefined,

    /** Moves the folder of a deleted environment aside. Apps that still run keep it as `/data`. */
    async retire(key: Environment): Promise<void> {
      await rename(pathOf(key), join(folder, key.project_id, retired + createRandom().alphanumeric(16))).catch(
        (error) => {
          if (error.code !== "ENOENT") throw error;
        },
      );
    },

    /** Removes the folder of a project, or the data of deleted environments. */
    async remove(project_id: string, environment?: string): Promise<void> {
      const path = join(folder, project_id);
      if (environment === undefined) return files().remove(path);
      if (!existsSync(path)) return;
      for (const name of await readdir(path)) if (name.startsWith(retired)) await files().remove(join(path, name));
    },

    /** Removes the data of deleted environments that crashes left behind. */
    async removeGone(isKept: (key: Environment) => Promise<boolean>): Promise<void> {
      if (!existsSync(folder)) return;
      for (const project_id of await readdir(folder))
        for (const name of await readdir(join(folder, project_id))) {
          const key = { project_id, environment: name.slice(prefix.length) };
          if (name.startsWith(prefix) && !(await isKept(key))) await this.retire(key);
          await this.remove(project_id, key.environment);
        }
    },
  };
}
