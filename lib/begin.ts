import type { Features } from "./compose.ts";
import type { Role, Scope } from "./kernel/roles.ts";
import type { Foundation } from "./open.ts";
import type { Settings } from "./options.ts";
import { ownerKey, type parseSeed, plant } from "./seed.ts";

/**
 * Fills an empty database: with the seed, or with one organization, an owner and a key. Answers the key to show, which
 * is a seed's first owner key, or null where none is known.
 */
export async function begin(
  foundation: Foundation,
  features: Features,
  settings: Settings,
  parsed: ReturnType<typeof parseSeed>,
): Promise<string | null> {
  const { store, log } = foundation;
  const empty = await features.organizations.isEmpty();
  if (empty) await plant(store, features, parsed);
  else if (settings.seed) log.warn("the database is not empty, so the seed was passed over");
  if (empty && parsed.organizations.some(({ webhooks, integrations }) => webhooks?.length || integrations?.length)) {
    log.warn("this version passes over the seed's webhooks and integrations");
  }
  const seeded = empty && settings.seed ? ownerKey(parsed) : null;
  if (settings.key === undefined && (settings.seed || !empty)) return seeded;
  if (settings.key !== undefined && (await features.keys.identify(settings.key))) return settings.key;
  const { key } = await createKey(foundation, features, { role: "owner", name: "first key", key: settings.key });
  return key;
}

/** A key for a user of a role, who is made where the organization has none. */
export async function createKey(
  { store, random }: Pick<Foundation, "store" | "random">,
  { organizations, users, keys }: Pick<Features, "organizations" | "users" | "keys">,
  wanted: {
    organization?: string;
    role?: Role;
    scopes?: readonly Scope[];
    name?: string;
    key?: string | undefined;
    expires_at?: string;
    rate_limit?: number;
  },
) {
  const { role = "owner", scopes = ["*"], name = "key" } = wanted;
  const organization = await organizations.named(wanted.organization);
  if (!organization)
    throw new Error(
      wanted.organization === undefined
        ? "there is no organization yet"
        : `no organization is named "${wanted.organization}"`,
    );
  const user = await users.ofRole(organization.id, role);
  return store.transaction(async (tx) => {
    const email = `${role}-${random.letters(6).toLowerCase()}@localhost.test`;
    const holder = user ?? (await users.insert(tx, organization.id, { name: role, email, role }));
    return keys.insert(tx, { ...wanted, organization_id: organization.id, user_id: holder.id, name, scopes });
  });
}
