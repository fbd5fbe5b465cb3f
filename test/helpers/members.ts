import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Seed } from "../../lib/index.ts";
import { bearer } from "./headers.ts";
import { type Reply, seed, type World } from "./test-service.ts";

/** Callers in addition to those of the default seed. */

type SeedUser = NonNullable<Seed["organizations"][number]["users"]>[number];
type SeedKey = NonNullable<SeedUser["keys"]>[number];

/** A member of `acme` with one key: `sk_live_` followed by the name. */
export const member = (name: string, role: SeedUser["role"], more: Partial<SeedKey> = {}): SeedUser => ({
  name,
  email: `${name}@acme.test`,
  role,
  keys: [{ key: `sk_live_${name}`, ...more }],
});

/** The default seed with additional members of `acme`. */
export const withMembers = (...members: SeedUser[]): Seed => ({
  organizations: seed.organizations.map((one) =>
    one.name === "acme" ? { ...one, users: [...one.users, ...members] } : one,
  ),
});

/** Sends calls with the key of a `member`. */
export const callAs = (
  { call }: World,
  name: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> => call("nobody", method, path, body, { ...bearer(`sk_live_${name}`), ...headers });

/** The path of a database in its own folder, which is removed after the test. */
export function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-test-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "svc.db");
}
