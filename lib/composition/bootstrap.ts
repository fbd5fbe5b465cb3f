import * as v from "valibot";
import type { Settings } from "../config/parse-options.ts";
import { BadSeed, ownerKey, type ParsedSeed, type SeedUser } from "../config/seed.ts";
import { keyName, keyScopes } from "../features/keys/schema.ts";
import { organizationName, type Plan, plans } from "../features/organizations/schema.ts";
import { isoOf } from "../kernel/clock.ts";
import { invalid } from "../kernel/errors.ts";
import { roles } from "../kernel/roles.ts";
import type { TransactionHooks, Tx } from "../kernel/transaction-hooks.ts";
import { checkArgument, oneOf, record } from "../kernel/validation.ts";
import { recordFixedKey } from "./dev-database-warnings.ts";
import type { Features } from "./features.ts";
import type { Foundation } from "./open-store.ts";

/**
 * Fills an empty database with the seed, or with one organization, an owner and a key. Returns the key to show: the first
 * owner key of a seed, a key made here, or null.
 */
export async function bootstrap(
  foundation: Foundation,
  features: Features,
  settings: Settings,
  seed: ParsedSeed,
): Promise<string | null> {
  const isFirst = await fill(foundation, features, settings, seed);
  if (isFirst) warnOfOwnerless(foundation, seed);
  else if (settings.seed) foundation.log.warn("seed ignored: the database is not empty");
  return firstKey(foundation, features, settings, seed, isFirst);
}

/** Inserts the seed into an empty database. If several processes start at once, only one inserts it. */
async function fill({ store }: Foundation, features: Features, { regions }: Settings, seed: ParsedSeed) {
  const { isEmpty } = features.organizations;
  if (!(await isEmpty())) return false;
  requireValidRegions(seed, regions);
  return store.transaction("all", async (tx) => {
    const isFirst = await isEmpty(tx);
    if (isFirst) await insertSeed(tx, features, seed);
    return isFirst;
  });
}

function warnOfOwnerless({ log }: Foundation, { organizations }: ParsedSeed): void {
  for (const { name, users = [] } of organizations) {
    if (users.some(({ role, status }) => role === "owner" && status !== "suspended")) continue;
    log.warn("an organization of the seed has no active owner", { organization: name });
  }
}

/** The key to show: the seed's, the option `key`, or, in a database without a seed, a new one. */
async function firstKey(
  foundation: Foundation,
  features: Features,
  settings: Settings,
  seed: ParsedSeed,
  isNew: boolean,
): Promise<string | null> {
  const { key } = settings;
  if (key === undefined && (settings.seed || !isNew)) {
    const seeded = settings.seed ? ownerKey(seed) : null;
    return seeded !== null && (await features.keys.findId(seeded)) ? seeded : null;
  }
  const existingId = key === undefined ? undefined : await features.keys.findId(key);
  if (existingId !== undefined) {
    await recordFixedKey(foundation, existingId);
    return key ?? null;
  }
  const made = await createKey(foundation, features, { role: "owner", name: "first key", key });
  if (key !== undefined) await recordFixedKey(foundation, made.row.id);
  return made.key;
}

export const newKey = record({
  organization: v.optional(v.string()),
  role: v.optional(oneOf(roles)),
  scopes: v.optional(keyScopes),
  name: v.optional(keyName),
});

export interface WantedKey extends v.InferOutput<typeof newKey> {
  readonly key?: string | undefined;
  readonly expires_at?: string | undefined;
  readonly rate_limit?: number | undefined;
}

/** The organization of this name; without a name, the first one. */
export async function organizationNamed({ organizations }: Pick<Features, "organizations">, name: string | undefined) {
  const organization = await organizations.named(name);
  if (organization) return organization;
  throw new Error(name === undefined ? "there is no organization yet" : `no organization is named "${name}"`);
}

/** Makes a key for a user with this role. If the organization has no such user, makes one. */
export async function createKey(
  { store, random }: Pick<Foundation, "store" | "random">,
  features: Pick<Features, "organizations" | "users" | "keys">,
  wanted: WantedKey,
  hooks: TransactionHooks = {},
) {
  const { role = "owner", scopes = ["*"], name = "key" } = wanted;
  const { users, keys } = features;
  const { id: organization_id } = await organizationNamed(features, wanted.organization);
  return store.transaction({ organization_id, hooks }, async (tx) => {
    const user = await users.firstWithRole(organization_id, role, tx);
    const email = `${role}-${random.alphanumeric(6).toLowerCase()}@localhost.test`;
    const holder = user ?? (await users.insert(tx, organization_id, { name: role, email, role }));
    return keys.insert(tx, { ...wanted, organization_id, user_id: holder.id, name, scopes });
  });
}

const newOrganization = record({ name: organizationName, plan: v.optional(oneOf(plans), "starter") });

/** Makes an organization without users. Throws 422 for a name that is invalid or taken. */
export async function createOrganization(
  { store }: Pick<Foundation, "store">,
  { organizations }: Pick<Features, "organizations">,
  given: { name: string; plan?: Plan },
) {
  const wanted = checkArgument(newOrganization, "wanted", given, '{ name: "acme" }');
  const { id, name, plan } = await store.transaction("rows", async (tx) => {
    if (await organizations.named(wanted.name, tx))
      throw invalid("name", "is already the name of another organization");
    return organizations.insert(tx, wanted);
  });
  return { id, name, plan };
}

function requireValidRegions({ organizations }: ParsedSeed, regions: readonly string[] | undefined): void {
  if (!regions) return;
  const mistakes = organizations.flatMap(({ projects = [] }, i) =>
    projects.flatMap(({ region }, j) =>
      regions.includes(region) ? [] : [`organizations.${i}.projects.${j}.region must be one of ${regions.join(", ")}`],
    ),
  );
  if (mistakes.length > 0) throw new BadSeed(mistakes);
}

async function insertSeed(tx: Tx, features: Features, { organizations }: ParsedSeed): Promise<void> {
  for (const one of organizations) {
    const { id } = await features.organizations.insert(tx, one);
    for (const user of one.users ?? []) await insertUser(tx, features, id, user);
    await insertEndpoints(tx, features, id, one);
    for (const project of one.projects ?? []) {
      const input = { ...project, description: project.description };
      const row = await features.projects.insert(tx, id, input, project.status);
      for (const { name, variables } of project.environments ?? [])
        await features.environments.insert(
          tx,
          { organization_id: id, project_id: row.id, environment: name },
          variables,
        );
    }
  }
}

async function insertUser(
  tx: Tx,
  { users, keys }: Features,
  organization_id: string,
  { keys: given = [], ...user }: SeedUser,
): Promise<void> {
  const row = await users.insert(tx, organization_id, user);
  for (const one of given) {
    const expires_at = one.expires_at === undefined ? undefined : isoOf(Date.parse(one.expires_at));
    await keys.insert(tx, { ...one, organization_id, user_id: row.id, expires_at });
  }
}

async function insertEndpoints(
  tx: Tx,
  { webhooks, integrations }: Features,
  organization_id: string,
  given: ParsedSeed["organizations"][number],
): Promise<void> {
  for (const one of given.webhooks ?? []) await webhooks.insert(tx, organization_id, one, one.status);
  for (const { type, config, status } of given.integrations ?? []) {
    await integrations.insert(tx, organization_id, type, integrations.parse(type, config), status);
  }
}
