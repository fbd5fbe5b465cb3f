import * as v from "valibot";
import { endpointLifecycle } from "../features/deliveries/states.ts";
import { variables } from "../features/environments/rules.ts";
import { environmentName } from "../features/environments/schema.ts";
import { integrationTypes } from "../features/integrations/integration-types.ts";
import { newIntegration } from "../features/integrations/schema.ts";
import { fixedKey, keyName, keyScopes } from "../features/keys/schema.ts";
import { organizationName, plans } from "../features/organizations/schema.ts";
import { name as projectName, region } from "../features/projects/schema.ts";
import { lifecycle as projectStates } from "../features/projects/states.ts";
import { displayName, role } from "../features/users/schema.ts";
import { lifecycle as userStates } from "../features/users/states.ts";
import { newWebhook } from "../features/webhooks/schema.ts";
import { parseInstant } from "../kernel/clock.ts";
import type { Detail } from "../kernel/errors.ts";
import { maxEndpoints, maxLevels } from "../kernel/limits.ts";
import { isTooDeep } from "../kernel/size-limits.ts";
import { foldCase } from "../kernel/text/case-folding.ts";
import { detailOf, email, isUnknown, oneOf, record, textOf, wholeNumber } from "../kernel/validation.ts";

const instantText = v.pipe(
  v.string("must be a string"),
  v.check((value) => parseInstant(value) !== undefined, "must be an instant such as 2027-01-01T00:00:00Z"),
);

const key = record({
  name: v.optional(keyName, "seed"),
  key: fixedKey,
  scopes: v.optional(keyScopes, ["*"]),
  expires_at: v.optional(instantText),
  rate_limit: v.optional(wholeNumber(0, 1_000_000_000)),
});

const listOf = <S extends v.GenericSchema>(entry: S) => v.array(entry, "must be a list");

const user = record({
  name: displayName,
  email: email(),
  role,
  status: v.optional(oneOf(userStates.states)),
  keys: v.optional(listOf(key)),
});

const endpointsOf = <S extends v.GenericSchema>(entry: S) =>
  v.optional(v.pipe(listOf(entry), v.maxLength(maxEndpoints, `must have at most ${maxEndpoints}`)));

const project = record({
  name: projectName,
  region,
  description: v.optional(v.nullable(textOf(0, 255))),
  status: v.optional(oneOf(projectStates.states)),
  environments: v.optional(listOf(record({ name: environmentName, variables: v.optional(variables) }))),
});

const status = v.optional(oneOf(endpointLifecycle.states));
const organization = record({
  name: organizationName,
  plan: v.optional(oneOf(plans), "starter"),
  users: v.optional(listOf(user)),
  projects: v.optional(listOf(project)),
  webhooks: endpointsOf(record({ ...newWebhook.entries, status })),
  integrations: endpointsOf(record({ ...newIntegration.entries, status })),
});

/** The initial content of an empty database. `schema/seed.schema.json` is generated from this schema. */
export const seed = record({
  $schema: v.optional(v.string()),
  organizations: v.array(organization, "must be a list of organizations"),
});

export type Seed = v.InferInput<typeof seed>;
/** A parsed seed, with every default filled in. */
export type ParsedSeed = v.InferOutput<typeof seed>;
export type SeedUser = v.InferOutput<typeof user>;

/** An invalid seed. The message is one sentence for a single mistake, else a line for each. */
export class BadSeed extends Error {
  override readonly name = "BadSeed";

  constructor(mistakes: readonly string[]) {
    const [first] = mistakes;
    super(
      mistakes.length === 1
        ? `the seed cannot be used: ${first}`
        : `the seed cannot be used, because of ${mistakes.length} mistakes:\n  ${mistakes.join("\n  ")}`,
    );
  }
}

/** Parses a seed. Throws {BadSeed}, which names every wrong place and the rule for it. */
export function parseSeed(given: unknown): ParsedSeed {
  if (isTooDeep(given)) throw new BadSeed([`it must not be nested deeper than ${maxLevels} levels`]);
  const result = v.safeParse(seed, given);
  const mistakes = new Map<string, string>();
  const add = (place: string, message: string) => {
    if (!mistakes.has(place)) mistakes.set(place, message);
  };
  for (const { path, message } of issuesOf(given)) add(path, message);
  checkUnique(result.output, add);
  checkIntegrations(result.output, add);
  if (!result.success || mistakes.size > 0)
    throw new BadSeed([...mistakes].map(([place, message]) => `${place} ${message}`));
  return result.output;
}

type Add = (place: string, message: string) => void;

/**
 * Every broken rule. Valibot reports one unknown field of an object at a time, so each is removed and the check
 * repeated.
 */
function issuesOf(given: unknown): Detail[] {
  const { issues = [] } = v.safeParse(seed, given);
  const unknown = issues.filter(isUnknown);
  if (unknown.length === 0) return issues.map(detailOf);
  const rest: unknown = JSON.parse(JSON.stringify(given));
  for (const issue of v.safeParse(seed, rest).issues?.filter(isUnknown) ?? []) {
    const { input, key } = issue.path?.at(-1) ?? {};
    Reflect.deleteProperty(Object(input), key as string);
  }
  return [...unknown.map(detailOf), ...issuesOf(rest)];
}

/** The entries of a list in parsed JSON. Any part may be wrong or missing. */
function entriesOf(parent: unknown, name: string): readonly Readonly<Record<string, unknown>>[] {
  const list = (parent as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return Array.isArray(list) ? list.map((one) => (typeof one === "object" && one !== null ? one : {})) : [];
}

/** Each configuration has the rules of its type, as in the API. */
function checkIntegrations(parsed: unknown, add: Add): void {
  entriesOf(parsed, "organizations").forEach((organization, i) => {
    entriesOf(organization, "integrations").forEach(({ type, config }, j) => {
      const place = `organizations.${i}.integrations.${j}`;
      const entry = Object.entries(integrationTypes).find(([name]) => name === type);
      if (!entry) return;
      if (type === "monitoring" && organization["plan"] === "starter")
        add(`${place}.type`, "must not be monitoring on the plan starter");
      const { issues = [] } = v.safeParse(v.object({ config: entry[1].schema }), { config });
      for (const issue of issues) {
        const { path, message } = detailOf(issue);
        add(`${place}.${path}`, message);
      }
    });
  });
}

/** Finds duplicates before anything is written, so that the error can name both places. */
function checkUnique(parsed: unknown, add: Add): void {
  const seen = new Map<string, string>();
  const unique = (place: string, kind: string, value: unknown, fold = (text: string) => text) => {
    if (typeof value !== "string") return;
    const entry = `${kind} ${fold(value)}`;
    const first = seen.get(entry);
    if (first === undefined) seen.set(entry, place);
    else add(place, `must be unique; ${first} is the same`);
  };
  entriesOf(parsed, "organizations").forEach((one, i) => {
    const top = `organizations.${i}`;
    unique(`${top}.name`, "organization", one["name"], foldCase);
    entriesOf(one, "users").forEach((user, j) => {
      unique(`${top}.users.${j}.email`, `user ${i}`, user["email"], foldCase);
      entriesOf(user, "keys").forEach(({ key }, k) => {
        unique(`${top}.users.${j}.keys.${k}.key`, "key", key);
      });
    });
    entriesOf(one, "projects").forEach((project, j) => {
      unique(`${top}.projects.${j}.name`, `project ${i}`, project["name"], foldCase);
      entriesOf(project, "environments").forEach(({ name }, k) => {
        unique(`${top}.projects.${j}.environments.${k}.name`, `environment ${i} ${j}`, name);
      });
    });
  });
}

export const defaultSeed = {
  organizations: [{ name: "default", users: [{ name: "Owner", email: "owner@localhost.test", role: "owner" }] }],
} as const satisfies Seed;

/** The first key of the first active owner. The program prints it. */
export const ownerKey = ({ organizations }: ParsedSeed): string | null =>
  organizations
    .flatMap(({ users = [] }) => users)
    .filter(({ role, status }) => role === "owner" && status !== "suspended")
    .flatMap(({ keys = [] }) => keys.slice(0, 1))[0]?.key ?? null;
