import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { folderBytes } from "./disk.ts";
import { Failure } from "./failure.ts";

/** A cache with more commits is recreated: each fetch adds a pack, and git searches all packs. */
export const mostCommits = 100;

/** Leftovers of a killed git: locks, which block the next run, and partial packs as large as the fetch. */
const leftover = /\.lock$|^tmp_/;

/** The caches of fetched commits: bare repositories, one per project and URL. */
export function createGitCaches() {
  /** The last use of each cache. */
  const uses = new Map<string, Promise<unknown>>();
  /** Caches that this process has cleaned up. */
  const tidy = new Set<string>();

  const removeLeftovers = async (cache: string) => {
    if (!existsSync(cache)) return;
    for (const path of await readdir(cache, { recursive: true }))
      if (leftover.test(basename(path))) await rm(join(cache, path), { force: true });
  };

  const commitsIn = async (cache: string) => {
    const folder = join(cache, "refs/svc");
    return existsSync(folder) ? (await readdir(folder)).length : 0;
  };

  return {
    /**
     * Runs `work` with exclusive use of the cache. Otherwise concurrent fetches would fail on locks, and shrinking
     * would remove files during a checkout. If `signal` aborts, waiting ends.
     */
    async alone<T>(cache: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      const before = uses.get(cache) ?? Promise.resolve();
      let free = () => {};
      const own = new Promise<void>((resolve) => {
        free = resolve;
      });
      const use = before.then(() => own);
      uses.set(cache, use);
      void use.then(() => uses.get(cache) === use && uses.delete(cache));
      let leave = () => {};
      const ended = new Promise<void>((resolve) => {
        leave = resolve;
        signal.addEventListener("abort", leave);
      });
      await Promise.race([before, ended]);
      signal.removeEventListener("abort", leave);
      try {
        if (signal.aborted) throw new Failure("it was ended");
        const isTidy = tidy.delete(cache);
        // An earlier process may have been killed during its work.
        if (!isTidy) await removeLeftovers(cache);
        try {
          return await work();
        } finally {
          await removeLeftovers(cache);
          tidy.add(cache);
        }
      } finally {
        free();
      }
    },

    /**
     * Empties a cache that is too large, and returns its size in bytes. Stored releases do not need the cache; a
     * rebuild fetches its commit again.
     */
    async shrink(cache: string, largest_bytes: number): Promise<number> {
      const bytes = await folderBytes(cache, largest_bytes);
      if (bytes <= largest_bytes && (await commitsIn(cache)) < mostCommits) return bytes;
      await rm(cache, { recursive: true, force: true, maxRetries: 3 });
      return 0;
    },
  };
}
