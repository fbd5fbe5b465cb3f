import * as v from "valibot";
import { endpointLifecycle } from "../endpoints/states.ts";
import { environmentName, variables } from "../environments/schema.ts";
import { integrationTypes } from "../integrations/integration-types.ts";
import { newIntegration } from "../integrations/schema.ts";
import { foldCase } from "../kernel/case-folding.ts";
import { parseInstant } from "../kernel/clock.ts";
import { detailOf, email, oneOf, textOf } from "../kernel/validation.ts";
import { fixedKey, keyName, keyScopes } from "../keys/schema.ts";
import { organizationName, plans } from "../organizations/schema.ts";
import { name as projectName, region } from "../projects/schema.ts";
import { lifecycle as projectStates } from "../projects/states.ts";
import { displayName, role } from "../users/schema.ts";
import { lifecycle as userStates } from "../users/states.ts";
import { newWebhook } from "../webhooks/schema.ts";

const instantText = v.pipe(
  v.string("must be a string"),
  v.check((value) => parseInstant(value) !== undefined, "must be an instant such as 2027-01-01T00:00:00Z"),
);

const key = v.strictObject({
  name: v.optional(keyName, "seed"),
  key: fixedKey,
  scopes: v.optional(keyScopes, ["*"]),
  expires_at: v.optional(instantText),
  rate_limit: v.optional(
    v.pipe(v.number("must be a number"), v.integer("must be a whole number"), v.minValue(1, "must be 1 or more")),
  ),
});

const user = v.strictObject({
  name: displayName,
  email: email(),
  role,
  status: v.optional(oneOf(userStates.states)),
  keys: v.optional(v.array(key, "must be a list")),
});

const project = v.strictObject({
  name: projectName,
  region,
  description: v.optional(v.nullable(textOf(0, 255))),
  status: v.optional(oneOf(projectStates.states)),
  environments: v.optional(
    v.array(
      v.strictObject({
        name: environmentName,
        variables: v.optional(variables),
      }),
      "must be a list",
    ),
  ),
});

const status = v.optional(oneOf(endpointLifecycle.states));
const webhook = v.strictObject({ ...newWebhook.entries, status });

const organization = v.strictObject({
  name: organizationName,
  plan: v.optional(oneOf(plans), "starter"),
  users: v.optional(v.array(user, "must be a list")),
  projects: v.optional(v.array(project, "must be a list")),
  webhooks: v.optional(v.pipe(v.array(webhook, "must be a list"), v.maxLength(100, "must have at most 100"))),
  integrations: v.optional(
    v.pipe(
      v.array(v.strictObject({ ...newIntegration.entries, status }), "must be a list"),
      v.maxLength(100, "must have at most 100"),
    ),
  ),
});

/** The content of an empty database. CONTRACT section 8, "A seed file"; `schema/seed.schema.json` is made from this. */
export const seed = v.strictObject({
  $schema: v.optional(v.string()),
  organizations: v.array(organization, "must be a list of organizations"),
});

export type Seed = v.InferInput<typeof seed>;
/** A parsed seed, with every default filled in. */
export type ParsedSeed = v.InferOutput<typeof seed>;
export type SeedUser = v.InferOutput<typeof user>;

export class BadSeed extends Error {
  override readonly name = "BadSeed";
}

/** Parses a seed. Throws {BadSeed}, which names the first wrong place and what it must be. */
export function parseSeed(given: unknown): ParsedSeed {
  const result = v.safeParse(seed, given);
  if (!result.success) {
    const [first] = result.issues.map(detailOf);
    throw new BadSeed(`the seed cannot be used: ${first?.path} ${first?.message}`);
  }
  requireUnique(result.output);
  validateIntegrations(result.output);
  return result.output;
}

/** Checks each configuration by the rules of its type, as the interface does. */
function validateIntegrations({ organizations }: ParsedSeed): void {
  organizations.forEach(({ plan, integrations = [] }, i) => {
    integrations.forEach(({ type, config }, j) => {
      const place = `organizations.${i}.integrations.${j}`;
      if (type === "monitoring" && plan === "starter") {
        throw new BadSeed(`the seed cannot be used: ${place}.type must not be monitoring on the plan starter`);
      }
      const result = v.safeParse(v.object({ config: integrationTypes[type].schema }), { config });
      if (result.success) return;
      const [first] = result.issues.map(detailOf);
      throw new BadSeed(`the seed cannot be used: ${place}.${first?.path} ${first?.message}`);
    });
  });
}

/** Finds duplicates before anything is written, so that the error can name both places. */
function requireUnique({ organizations }: ParsedSeed): void {
  const seen = new Map<string, string>();
  const unique = (place: string, kind: string, value: string) => {
    const first = seen.get(`${kind} ${value}`);
    if (first) throw new BadSeed(`the seed cannot be used: ${place} must be unique; ${first} is the same`);
    seen.set(`${kind} ${value}`, place);
  };
  organizations.forEach((one, i) => {
    unique(`organizations.${i}.name`, "organization", foldCase(one.name));
    one.users?.forEach((user, j) => {
      unique(`organizations.${i}.users.${j}.email`, `user ${i}`, foldCase(user.email));
      user.keys?.forEach(({ key }, k) => {
        unique(`organizations.${i}.users.${j}.keys.${k}.key`, "key", key);
      });
    });
    one.projects?.forEach((project, j) => {
      unique(`organizations.${i}.projects.${j}.name`, `project ${i}`, foldCase(project.name));
      project.environments?.forEach(({ name }, k) => {
        unique(`organizations.${i}.projects.${j}.environments.${k}.name`, `environment ${i} ${j}`, name);
      });
    });
  });
}

/** The seed of a service without one: an organization with an owner. CONTRACT section 2. */
export const defaultSeed = {
  organizations: [
    {
      name: "default",
      users: [{ name: "Owner", email: "owner@localhost.test", role: "owner" }],
    },
  ],
} as const satisfies Seed;

/** The first key of the first active owner: the key that the program prints. */
export function ownerKey({ organizations }: ParsedSeed): string | null {
  for (const { users = [] } of organizations) {
    for (const { role, status, keys = [] } of users) {
      if (role === "owner" && status !== "suspended" && keys[0]) return keys[0].key;
    }
  }
  return null;
}
