import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const temporaryPrefix = "svc-server-apps-";
const folders = new Set<string>();

/** Removes a folder as far as possible. Files that cannot be removed must not crash this process. */
function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    spawnSync("chmod", ["-R", "u+rwX", "--", folder]);
    spawnSync("rm", ["-rf", "--", folder]);
  }
}

function removeAll(): void {
  for (const folder of folders) remove(folder);
}

/** A folder for an in-memory service, removed when the process exits, or by the next call if it was killed. */
export function temporaryFolder(): string {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = new RegExp(`^${temporaryPrefix}(\\d+)-`).exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) remove(join(tmpdir(), name));
  }
  const folder = mkdtempSync(join(tmpdir(), `${temporaryPrefix}${process.pid}-`));
  // One listener for all folders, because Node warns about more than ten.
  if (folders.size === 0) process.once("exit", removeAll);
  folders.add(folder);
  return folder;
}
