import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { BadOptions } from "../config/parse-options.ts";
import { createRandom } from "../kernel/random.ts";
import { describeError } from "../store/database-error.ts";
import { lockDatabase } from "../store/sqlite/database-lock.ts";

export interface AppsFolder {
  /** The name by which the other servers know the runtime. It stays with the folder, even if the machine is renamed. */
  readonly id: string;
  release(): void;
}

/**
 * Locks the folder for this process. The lock ends with the process, so everything left in the folder by earlier
 * processes is dead.
 */
export function takeAppsFolder(given: string): AppsFolder {
  const folder = resolve(given);
  let release = () => {};
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    release = lockDatabase(join(folder, "runtime"));
    const file = join(folder, "runtime.id");
    if (!existsSync(file)) writeFileSync(file, `${createRandom().alphanumeric(12)}\n`, { mode: 0o600 });
    const id = readFileSync(file, "utf8").trim();
    if (/^[A-Za-z0-9]{12}$/.test(id)) return { id, release };
    throw new Error(`the file ${file} is damaged; remove it`);
  } catch (error) {
    release();
    const isTaken = /another svc-server/.test(String(error));
    const reason = isTaken ? "another svc-server is running on it" : describeError(error);
    throw new BadOptions(
      "apps.folder",
      `must name a folder for this server alone; ${folder} cannot be used: ${reason}`,
    );
  }
}
