import { spawn } from "node:child_process";
import { lstat, rm } from "node:fs/promises";

/** Files of organizations, which belong to their users. */
export interface TenantFiles {
  /** Gives a folder with everything in it to a user, unless it is theirs. Undefined leaves it as it is. */
  own(path: string, user: number | undefined): Promise<void>;
  /** Removes a file or a folder with everything in it. */
  remove(path: string): Promise<void>;
}

function run([file = "", ...args]: readonly string[]): Promise<void> {
  const child = spawn(file, args, { cwd: "/", stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk).slice(-1024);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`${args.join(" ")}: ${said.trim()}`))));
  });
}

/**
 * Removes a folder whatever a build has made of it. Folders without rights get them first; paths that are longer than a
 * system call takes are none for the program, which goes from folder to folder.
 */
const remover = (as: readonly string[]) => async (path: string) => {
  const removeByProgram = () => run([...as, "rm", "--recursive", "--force", "--", path]);
  try {
    await (as.length === 0 ? rm(path, { recursive: true, force: true, maxRetries: 3 }) : removeByProgram());
  } catch {
    // Its own failure shows in what it leaves to the removal.
    await run([...as, "chmod", "--recursive", "u+rwX", "--", path]).catch(() => {});
    await removeByProgram();
  }
};

/** Where all files are the server's. */
export const plainFiles: TenantFiles = { own: async () => {}, remove: remover([]) };

/** `as` runs a program with rights over the files of all users; it is empty where this process has them. */
export function createTenantFiles(as: readonly string[]): TenantFiles {
  const own = process.getuid?.();
  // Of an ordinary server's files, whatever is not its own belongs to one of its subordinate users.
  const isTheirs = (uid: number, user: number) => (as.length === 0 ? uid === user : uid !== own);
  return {
    async own(path, user) {
      if (user === undefined || isTheirs((await lstat(path)).uid, user)) return;
      await run([...as, "chown", "--recursive", "--no-dereference", `${user}:${user}`, "--", path]);
    },
    remove: remover(as),
  };
}
