import { existsSync, statSync } from "node:fs";
import type { Settings } from "../lib/config/parse-options.ts";
import { createClock } from "../lib/kernel/clock.ts";
import { Damage, describeError } from "../lib/store/database-error.ts";
import { parseKey, readKey } from "../lib/store/encryption.ts";
import { onPostgres } from "../lib/store/postgres/command-connection.ts";
import { loadDriver } from "../lib/store/postgres/driver.ts";
import { postgresChecks } from "../lib/store/postgres/inspection.ts";

export interface Finding {
  readonly check: string;
  readonly ok: boolean;
  /** Only for a protection of the box: whether the machine lacks it. */
  readonly missing?: boolean;
  readonly says: string;
}

export async function finds(check: string, look: () => string | Promise<string>): Promise<Finding> {
  try {
    return { check, ok: true, says: await look() };
  } catch (error) {
    return { check, ok: false, says: error instanceof Damage ? describeError(error) : (error as Error).message };
  }
}

export function requireOwnerOnly(path: string): void {
  if (process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0)
    throw new Error(`other users can read ${path}; run: chmod 600 ${path}`);
}

function keyOf({ encryptionKey, keyFile }: Settings): Buffer | undefined {
  if (encryptionKey !== undefined) return parseKey(encryptionKey);
  if (keyFile === undefined) return undefined;
  try {
    return readKey(keyFile);
  } catch (error) {
    throw new Error(`the key file ${keyFile}: ${describeError(error)}`);
  }
}

/** Checks a PostgreSQL database with the options of `start`. `settings` is undefined if the options are invalid. */
export async function findingsOfPostgres(url: string, settings: Settings | undefined): Promise<Finding[]> {
  const driver = await finds("pg", async () => {
    await loadDriver();
    return "the driver of PostgreSQL is installed";
  });
  if (!driver.ok) return [driver];
  const { now } = createClock("real");
  const findings = [driver];
  const { keyFile } = settings ?? {};
  // A missing file is reported by the check of the encryption key.
  if (keyFile !== undefined && existsSync(keyFile))
    findings.push(
      await finds("key file", () => {
        requireOwnerOnly(keyFile);
        return `only its owner can read ${keyFile}`;
      }),
    );
  const reached = await finds("database", () =>
    onPostgres(url, { readOnly: true }, async (client) => {
      const key = () => settings && keyOf(settings);
      const at = { client, url, key, folder: settings?.assets.folder, mayMigrate: settings?.migrate ?? true, now };
      for (const [check, look] of Object.entries(postgresChecks)) findings.push(await finds(check, () => look(at)));
      await client.end();
      return "";
    }),
  );
  return reached.ok ? findings : [...findings, reached];
}
