import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { mkdir, readdir, rename, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createOneAtATime } from "../runtime/one-at-a-time.ts";
import { type BuildDisks, usedBytes } from "./build-disks.ts";
import type { TenantFiles } from "./tenant-files.ts";

/** A folder with file systems that root created and mounted. */
export interface PreparedDisks {
  readonly folder: string;
  readonly count: number;
  readonly bytes: number;
}

/** The folders in a folder that are mount points, one per file system. */
function mountsIn(folder: string): string[] {
  const { dev } = statSync(folder);
  const paths = readdirSync(folder).map((name) => join(folder, name));
  const mounted = paths.filter((path) => statSync(path).isDirectory() && statSync(path).dev !== dev);
  return [...new Map(mounted.map((path) => [statSync(path).dev, path])).values()];
}

const isWritable = (path: string) => {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** Why builds cannot use these file systems; undefined if they can. */
export function lackOf({ folder, count, bytes }: PreparedDisks): string | undefined {
  if (!existsSync(folder)) return `the folder ${folder}, which deployments.buildDisks names, does not exist`;
  const mounts = mountsIn(folder);
  if (mounts.length < count)
    return `${folder} has ${mounts.length} mounted file systems, and deployments.concurrency is ${count}`;
  const small = mounts.find((path) => statfsSync(path).bsize * statfsSync(path).blocks < bytes);
  if (small !== undefined) return `${small} is smaller than deployments.buildDisk`;
  const closed = mounts.find((path) => !isWritable(path));
  return closed === undefined ? undefined : `${closed} cannot be written by the user of the service`;
}

/**
 * Gives each build a file system that root prepared, for a service that cannot mount. Packages are copied in and out.
 */
export function createPreparedDisks({ folder }: PreparedDisks, files: TenantFiles): BuildDisks {
  const free = mountsIn(folder);
  const waiting: ((disk: string) => void)[] = [];
  const closing = createOneAtATime();
  const give = (disk: string) => (waiting.shift() ?? ((one) => void free.push(one)))(disk);
  const take = async () => free.pop() ?? new Promise<string>((resolve) => waiting.push(resolve));
  const placesIn = (disk: string) => ({
    app: join(disk, "app"),
    temporary: join(disk, "tmp"),
    packages: join(disk, "cache"),
  });
  const empty = async (disk: string) => {
    for (const path of Object.values(placesIn(disk))) await files.remove(path);
  };
  /** If the copy is interrupted, a complete packages folder remains: the new one or the previous one. */
  const keep = async (built: string, packages: string) => {
    if ((await readdir(built).catch(() => ["unreadable"])).length === 0) return;
    const copied = join(dirname(packages), `new-${basename(packages)}`);
    await files.remove(copied);
    await files.copy(built, copied);
    await files.remove(packages);
    await rename(copied, packages);
  };

  return {
    async open({ packages, app, user }) {
      await closing(packages, async () => {});
      const disk = await take();
      const places = placesIn(disk);
      const used = async () => usedBytes(await statfs(disk));
      const fill = async () => {
        await empty(disk);
        await files.copy(packages, places.packages);
        const before = await used();
        await files.copy(app, places.app);
        await mkdir(places.temporary);
        for (const path of Object.values(places)) await files.own(path, user);
        return before;
      };
      const before = await fill().catch((error) => {
        give(disk);
        throw error;
      });
      return {
        ...places,
        within: [],
        written: async () => (await used()) - before,
        copyApp: (to, signal) => files.copy(places.app, to, signal),
        close() {
          void closing(packages, async () => {
            await keep(places.packages, packages).catch(() => {}); // The next build downloads its packages again.
            await empty(disk).catch(() => {}); // The next build empties it too.
            give(disk);
          });
        },
      };
    },

    close: closing.all,
  };
}
