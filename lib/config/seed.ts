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

const moment = v.pipe(
  v.string("must be a string"),
  v.check((value) => parseInstant(value) !== undefined, "must be an instant such as 2027-01-01T00:00:00Z"),
);

const key = v.strictObject({
  name: v.optional(keyName, "seed"),
  key: fixedKey,
  scopes: v.optional(keyScopes, ["*"]),
  expires_at: v.optional(moment),
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

/** What fills an empty database. CONTRACT section 8, "A seed file"; `schema/seed.schema.json` is made from this. */
export const seed = v.strictObject({
  $schema: v.optional(v.string()),
  organizations: v.array(organization, "must be a list of organizations"),
});

export type Seed = v.InferInput<typeof seed>;
/** A seed that was read: every default is filled in. */
export type ParsedSeed = v.InferOutput<typeof seed>;
export type SeedUser = v.InferOutput<typeof user>;

export class BadSeed extends Error {
  override readonly name = "BadSeed";
}

/** Reads a seed, or says in one sentence which place of it is wrong and what would be right. */
export function parseSeed(given: unknown): ParsedSeed {
  const result = v.safeParse(seed, given);
  if (!result.success) {
    const [first] = result.issues.map(detailOf);
    throw new BadSeed(`the seed cannot be used: ${first?.path} ${first?.message}`);
  }
  refuseTwins(result.output);
  refuseIntegrations(result.output);
  return result.output;
}

/** Each by the rules of its type, as the interface would judge it. */
function refuseIntegrations({ organizations }: ParsedSeed): void {
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

/** What must be unique, named by its place before anything is written. */
function refuseTwins({ organizations }: ParsedSeed): void {
  const seen = new Map<string, string>();
  const once = (place: string, what: string, value: string) => {
    const first = seen.get(`${what} ${value}`);
    if (first) throw new BadSeed(`the seed cannot be used: ${place} must be unique; ${first} is the same`);
    seen.set(`${what} ${value}`, place);
  };
  organizations.forEach((one, i) => {
    once(`organizations.${i}.name`, "organization", foldCase(one.name));
    one.users?.forEach((user, j) => {
      once(`organizations.${i}.users.${j}.email`, `user ${i}`, foldCase(user.email));
      user.keys?.forEach(({ key }, k) => {
        once(`organizations.${i}.users.${j}.keys.${k}.key`, "key", key);
      });
    });
    one.projects?.forEach((project, j) => {
      once(`organizations.${i}.projects.${j}.name`, `project ${i}`, foldCase(project.name));
      project.environments?.forEach(({ name }, k) => {
        once(`organizations.${i}.projects.${j}.environments.${k}.name`, `environment ${i} ${j}`, name);
      });
    });
  });
}

/** The start of a service that was given no seed: one organization with an owner. CONTRACT section 2. */
export const defaultSeed = {
  organizations: [
    {
      name: "default",
      users: [{ name: "Owner", email: "owner@localhost.test", role: "owner" }],
    },
  ],
} as const satisfies Seed;

/** The first key of the first owner: what the program prints as the one to use. */
export function ownerKey({ organizations }: ParsedSeed): string | null {
  for (const { users = [] } of organizations) {
    for (const { role, status, keys = [] } of users) {
      if (role === "owner" && status !== "suspended" && keys[0]) return keys[0].key;
    }
  }
  return null;
}
