import { lstat } from "node:fs/promises";
import { folderBytes } from "../runtime/disk.ts";
import { runProgram } from "../runtime/run-program.ts";

/** File operations for organizations, whose files belong to their own users. */
export interface TenantFiles {
  /** Gives a folder and its content to a user, unless the user owns it. With undefined, the owner stays. */
  own(path: string, user: number | undefined): Promise<void>;
  remove(path: string): Promise<void>;
  copy(from: string, to: string, signal?: AbortSignal): Promise<void>;
  bytes(path: string): Promise<number>;
}

/**
 * `rm` follows no link that an app puts in the place of a folder, and takes paths of any length. `chmod` does follow
 * links: only a server without other rights uses it, if a build took the permissions away.
 */
const remover = (as: readonly string[]) => async (path: string) => {
  const remove = async () => void (await runProgram([...as, "rm", "--recursive", "--force", "--", path]));
  const hasRights = as.length > 0 || process.getuid?.() === 0;
  await remove().catch(async () => {
    // If chmod fails, the second removal reports what is left.
    if (!hasRights) await runProgram(["chmod", "--recursive", "u+rwX", "--", path]).catch(() => {});
    await remove();
  });
};

const copier = (as: readonly string[]) => async (from: string, to: string, signal?: AbortSignal) =>
  void (await runProgram([...as, "cp", "-a", "-T", "--", from, to], signal && { signal }));

/** For a server that owns all files. */
export const plainFiles: TenantFiles = {
  own: async () => {},
  remove: remover([]),
  copy: copier([]),
  bytes: (path) => folderBytes(path),
};

/** `as` is a command prefix with rights over the files of all users; empty if this process has them. */
export function createTenantFiles(as: readonly string[]): TenantFiles {
  const own = process.getuid?.();
  // Without root, files that the server does not own belong to a user from its subordinate range.
  const isTheirs = (uid: number, user: number) => (as.length === 0 ? uid === user : uid !== own);
  return {
    async own(path, user) {
      if (user === undefined || isTheirs((await lstat(path)).uid, user)) return;
      await runProgram([...as, "chown", "--recursive", "--no-dereference", `${user}:${user}`, "--", path]);
    },
    remove: remover(as),
    copy: copier(as),
    async bytes(path) {
      // `du` follows no link that an app puts in the place of a folder. Files may disappear during the count.
      const count = 'du --summarize --block-size=1 -- "$1" 2> /dev/null || true';
      return Number.parseInt(await runProgram([...as, "sh", "-c", count, "du", path]), 10);
    },
  };
}
