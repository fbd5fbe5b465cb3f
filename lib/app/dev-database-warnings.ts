import type { Settings } from "../config/parse-options.ts";
import type { Features } from "./features.ts";
import type { Foundation } from "./open-store.ts";

type State = Pick<Foundation, "store" | "serviceState">;

const readFixedKeys = async ({ serviceState }: State): Promise<string[]> =>
  (await serviceState().read({ name: "fixed_keys" }))?.value.split(" ") ?? [];

/** Records that a key was given by option and not drawn at random: in the mode start that is a danger. */
export async function recordFixedKey({ store, serviceState }: State, id: string): Promise<void> {
  const before = await readFixedKeys({ store, serviceState });
  if (before.includes(id)) return;
  const value = [...before, id].join(" ");
  await store.transaction((tx) => serviceState(tx).write({ name: "fixed_keys", value }));
}

/** Warnings about a database that was used in the mode dev: fixed keys, and a clock in the future. Each says what to do. */
export async function devDatabaseWarnings(
  foundation: Foundation,
  { organizations, keys }: Pick<Features, "organizations" | "keys">,
  { mode, key, database }: Settings,
): Promise<string[]> {
  const { clock, serviceState } = foundation;
  const warnings: string[] = [];
  const fixed = mode === "start" || key !== undefined ? await readFixedKeys(foundation) : [];
  const first = fixed.length > 0 ? await organizations.named() : undefined;
  const current = key === undefined ? undefined : await keys.findId(key);
  for (const { id } of first ? await keys.all(first.id) : []) {
    if (!fixed.includes(id) || id === current) continue;
    warnings.push(
      `the API key ${id} was given with --key and is still valid for anyone who knows it; revoke it with: svc-server keys revoke ${id} --database ${database}`,
    );
  }
  const stored = mode === "start" ? (await serviceState().read({ name: "clock" }))?.value : undefined;
  if (stored !== undefined && Date.parse(stored) > clock.now() + 60_000) {
    warnings.push(
      `the clock of this database showed ${stored} in the mode dev, and now shows ${clock.iso()}: work that is due by then waits until then, and lists show new records behind older ones; if this matters, start on a new database`,
    );
  }
  return warnings;
}
