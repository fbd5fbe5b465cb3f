import type { Settings } from "../config/parse-options.ts";
import { withoutPassword } from "../store/database-url.ts";
import type { Features } from "./features.ts";
import type { Foundation } from "./open-store.ts";

type State = Pick<Foundation, "store" | "serviceState">;

const readFixedKeys = async ({ serviceState }: State): Promise<string[]> =>
  (await serviceState().read({ name: "fixed_keys" }))?.value.split(" ") ?? [];

/** Records that a key was given by option and is not random, which is a risk in the mode start. */
export async function recordFixedKey({ store, serviceState }: State, id: string): Promise<void> {
  const before = await readFixedKeys({ store, serviceState });
  if (before.includes(id)) return;
  const value = [...before, id].join(" ");
  await store.transaction("rows", (tx) => serviceState(tx).write({ name: "fixed_keys", value }));
}

/** Warnings about the fixed keys of a database that was used in the mode dev. Each says how to fix it. */
export async function devDatabaseWarnings(
  foundation: Foundation,
  { organizations, keys }: Pick<Features, "organizations" | "keys">,
  { mode, key, database }: Settings,
): Promise<string[]> {
  const warnings: string[] = [];
  const fixed = mode === "start" || key !== undefined ? await readFixedKeys(foundation) : [];
  const first = fixed.length > 0 ? await organizations.named() : undefined;
  const current = key === undefined ? undefined : await keys.findId(key);
  for (const { id } of first ? await keys.all(first.id) : []) {
    if (!fixed.includes(id) || id === current) continue;
    warnings.push(
      `the API key ${id} was given with --key and is still valid for anyone who knows it; revoke it with: svc-server keys revoke ${id} --database ${withoutPassword(database)}`,
    );
  }
  return warnings;
}
