import type { Settings } from "../config/parse-options.ts";
import type { Features } from "./features.ts";
import type { Foundation } from "./open-store.ts";

type Kept = Pick<Foundation, "store" | "kept">;

const fixedKeys = async ({ kept }: Kept): Promise<string[]> =>
  (await kept().read({ name: "fixed_keys" }))?.value.split(" ") ?? [];

/** Remembers that a key was given and not drawn: in the mode start this would be dangerous. */
export async function noteFixed(foundation: Kept, id: string): Promise<void> {
  const before = await fixedKeys(foundation);
  if (before.includes(id)) return;
  const value = [...before, id].join(" ");
  await foundation.store.transaction((tx) => foundation.kept(tx).write({ name: "fixed_keys", value }));
}

/** What a database brings along from the mode dev that its operator must know of, each with what mends it. */
export async function devDatabaseWarnings(
  foundation: Foundation,
  { organizations, keys }: Pick<Features, "organizations" | "keys">,
  { mode, key, database }: Settings,
): Promise<string[]> {
  const { clock, kept } = foundation;
  const dangers: string[] = [];
  const fixed = mode === "start" || key !== undefined ? await fixedKeys(foundation) : [];
  const first = fixed.length > 0 ? await organizations.named() : undefined;
  const current = key === undefined ? undefined : await keys.findId(key);
  for (const { id } of first ? await keys.all(first.id) : []) {
    if (!fixed.includes(id) || id === current) continue;
    dangers.push(
      `the API key ${id} was given with --key and is still valid, for everybody who knows it; revoke it with: svc-server keys revoke ${id} --database ${database}`,
    );
  }
  const stood = mode === "start" ? (await kept().read({ name: "clock" }))?.value : undefined;
  if (stood !== undefined && Date.parse(stood) > clock.now() + 60_000) {
    dangers.push(
      `the clock of this database showed ${stood} in the mode dev, and now shows ${clock.iso()}: until then what is due waits, and what is new is listed behind what is older; where this matters, start on a new database`,
    );
  }
  return dangers;
}
