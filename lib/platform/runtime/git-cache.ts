import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { folderBytes } from "./disk.ts";
import { Failure } from "./failure.ts";
import { createOneAtATime } from "./one-at-a-time.ts";
import { onAbort } from "./pause.ts";

/** A cache with more commits is recreated: each fetch adds a pack, and git searches all packs. */
export const maxCommits = 100;

/** Leftovers of a killed git: locks, which block the next run, and partial packs. */
const leftover = /\.lock$|^(tmp_|\.tmp-)/;

/** Removes the leftovers of a killed git from a repository. In `refs` only locks, as a branch may be called `tmp_1`. */
export async function removeGitLeftovers(repository: string): Promise<void> {
  const refs = join(repository, "refs");
  const namesIn = (place: string) => readdir(place, { recursive: place === refs }).catch(() => []);
  for (const place of [repository, join(repository, "objects"), join(repository, "objects/pack"), refs])
    for (const name of await namesIn(place))
      if (place === refs ? name.endsWith(".lock") : leftover.test(name))
        await rm(join(place, name), { recursive: true, force: true });
}

/** The caches of fetched commits: bare repositories, one per project and URL. */
export function createGitCaches() {
  const oneAtATime = createOneAtATime();
  const tidy = new Set<string>();

  const commitsIn = async (cache: string) => {
    const folder = join(cache, "refs/svc");
    return existsSync(folder) ? (await readdir(folder)).length : 0;
  };

  return {
    /**
     * Runs `work` with exclusive use of the cache, because fetches lock it and shrinking removes files. If `signal`
     * aborts, waiting ends.
     */
    alone<T>(cache: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      let stopListening = () => {};
      const ended = new Promise<never>((_, reject) => {
        stopListening = onAbort(signal, () => reject(new Failure("it was ended")));
      });
      const use = oneAtATime(cache, async () => {
        stopListening();
        if (signal.aborted) throw new Failure("it was ended");
        // An earlier process may have been killed during its work.
        if (!tidy.delete(cache)) await removeGitLeftovers(cache);
        try {
          return await work();
        } finally {
          await removeGitLeftovers(cache);
          tidy.add(cache);
        }
      });
      return Promise.race([use, ended]);
    },

    /** Empties a cache that is too large, and returns its size in bytes. A rebuild fetches its commit again. */
    async shrink(cache: string, max_bytes: number): Promise<number> {
      const bytes = await folderBytes(cache, max_bytes);
      if (bytes <= max_bytes && (await commitsIn(cache)) < maxCommits) return bytes;
      await rm(cache, { recursive: true, force: true, maxRetries: 3 });
      return 0;
    },
  };
}
