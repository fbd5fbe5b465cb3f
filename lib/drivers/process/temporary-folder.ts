import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const temporaryPrefix = "svc-server-apps-";
const made = new Set<string>();

function removeAll(): void {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
}

/**
 * A folder for a service in memory. It goes with the process; one that a killed process left behind goes at the next call.
 */
export function temporaryFolder(): string {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = new RegExp(`^${temporaryPrefix}(\\d+)-`).exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
  const folder = mkdtempSync(join(tmpdir(), `${temporaryPrefix}${process.pid}-`));
  // One listener for all: Node warns of more than ten.
  if (made.size === 0) process.once("exit", removeAll);
  made.add(folder);
  return folder;
}
