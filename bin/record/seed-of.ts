import { BadSeed, parseSeed, type Seed } from "../../lib/config/seed.ts";
import { roles } from "../../lib/kernel/roles.ts";
import { foldCase } from "../../lib/kernel/text/case-folding.ts";
import { type Account, type Json, mergedAccounts, type Recorder } from "./recorder.ts";
import { type Cleaner, createCleaner, standIn } from "./without-secrets.ts";

export type RecordedOrganization = Seed["organizations"][number];

interface Left {
  /** The parts that are not in the seed, with the reasons. */
  readonly left: string[];
}

/** The accounts, the people of each, and the cleaner that keeps secrets and people out of a recording. */
export function readAccounts(recorder: Recorder, keepsPeople: boolean, invited: readonly string[] = []) {
  const accounts = mergedAccounts(recorder.accounts());
  const people = accounts.map((account, i) => peopleOf(account, i + 1, keepsPeople));
  const addresses = new Map(people.flat().map(({ real, email }) => [real.toLowerCase(), email]));
  for (const address of invited.map((one) => one.toLowerCase()))
    if (!addresses.has(address)) addresses.set(address, `invited-${addresses.size + 1}@recorded.test`);
  return { accounts, people, cleaner: createCleaner(recorder.secrets(), keepsPeople ? undefined : addresses) };
}

/** Members numbered by role in the order in which they joined, with the name and address for the recording. */
function peopleOf(account: Account, number: number, keepsPeople: boolean) {
  const counts = new Map<string, number>();
  const of = number === 1 ? "" : `-of-${number}`;
  const all = [...account.users.values()].sort(
    (a, b) => compare(a["joined_at"], b["joined_at"]) || compare(a["id"], b["id"]),
  );
  return all.map((user) => {
    const role = roles.find((one) => one === user["role"]) ?? "viewer";
    const count = (counts.get(role) ?? 0) + 1;
    counts.set(role, count);
    const shown = keepsPeople
      ? { name: String(user["name"]), email: String(user["email"]) }
      : { name: `${role[0]?.toUpperCase()}${role.slice(1)} ${count}`, email: `${role}-${count}${of}@recorded.test` };
    const key = `sk_live_recorded_${role}_${count}${of.replaceAll("-", "_")}`;
    return { real: String(user["email"]), key, role, ...shown, isSuspended: user["status"] === "suspended" };
  });
}

const compare = (a: unknown, b: unknown) => (String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0);

export type People = ReturnType<typeof peopleOf>;

/** An account's organization in seed format. Parts that a seed cannot contain are left out and listed in `left`. */
export function organizationOf(
  account: Account,
  people: People,
  { number, cleaner, left }: { readonly number: number; readonly cleaner: Cleaner } & Left,
): RecordedOrganization {
  const integrations = [...account.integrations.values()];
  const plan = account.organization.value["plan"] ?? (integrations.some(isMonitoring) ? "pro" : "starter");
  const name = cleaner.text(String(account.organization.value["name"] ?? `recorded-${number}`));
  const users: unknown[] = people.map(({ real: _, key, isSuspended, ...user }) => ({
    ...user,
    ...(isSuspended ? { status: "suspended" } : { keys: [{ name: "recorded", key }] }),
  }));
  if (!people.some(({ role, isSuspended }) => role === "owner" && !isSuspended)) users.unshift(spareOwner(number));
  const fits = (part: object, what: string) => {
    try {
      parseSeed({ organizations: [{ name: "any", plan, ...part }] });
      return true;
    } catch (error) {
      if (!(error instanceof BadSeed)) throw error;
      left.push(
        `${what}: ${error.message.replace("the seed cannot be used: ", "").replace(/^organizations\.0\./, "")}`,
      );
      return false;
    }
  };
  const withSettings = integrations.filter(({ id, config }) => {
    if (config === undefined) left.push(`${id}: its settings were not seen; GET /integrations/${id} shows them`);
    return config !== undefined;
  });
  const all = {
    users: unique(users as Json[], "email").filter((user) => fits({ users: [user] }, `the user ${user["email"]}`)),
    projects: unique([...account.projects.values()], "name")
      .map((project) => projectOf(account, project, cleaner))
      .filter((project) => fits({ projects: [project] }, `the project ${project["name"]}`)),
    webhooks: [...account.webhooks.values()]
      .map((one) => webhookOf(one, cleaner))
      .filter((webhook) => fits({ webhooks: [webhook] }, `the webhook ${webhook["url"]}`)),
    integrations: withSettings
      .map(({ type, status, config }) => ({ type, status, config: cleaner.config(Object(config)) }))
      .filter((one) => fits({ integrations: [one] }, `an integration of the type ${one.type}`)),
  };
  return { name, plan, ...all } as RecordedOrganization;
}

const isMonitoring = ({ type }: Json) => type === "monitoring";

/** An emulator needs an owner, but the caller may not have seen who that is. */
const spareOwner = (number: number) => ({
  name: "Recorded owner",
  email: `owner-${number}@unseen.recorded.test`,
  role: "owner",
  keys: [{ name: "recorded", key: `sk_live_recorded_${number}` }],
});

/** The last record of each name. Earlier ones were removed or renamed. */
const unique = (records: readonly Json[], field: string): Json[] => [
  ...new Map(records.map((one) => [foldCase(String(one[field])), one])).values(),
];

function projectOf(account: Account, { id, name, region, description, status }: Json, cleaner: Cleaner): Json {
  const seenEnvironments = account.environments.get(String(id));
  const deployed = [...account.deployments.values()].flatMap(({ record }) =>
    record["project_id"] === id ? [String(record["environment"])] : [],
  );
  const names = [...new Set([...(seenEnvironments?.keys() ?? []), ...deployed])].sort();
  const environments = names.map((name) => {
    const { variables } = cleaner.environment(seenEnvironments?.get(name) ?? {});
    return { name, ...(Object.keys(Object(variables)).length > 0 && { variables }) };
  });
  return {
    name: cleaner.text(String(name)),
    region,
    ...(typeof description === "string" && { description: cleaner.text(description) }),
    ...(status === "archived" && { status }),
    ...(environments.length > 0 && { environments }),
  };
}

/**
 * Answers never contain secrets, so each webhook gets a fixed secret. That is harmless for a receiver that does not
 * check signatures.
 */
const webhookOf = ({ url, events, status, headers }: Json, cleaner: Cleaner): Json => ({
  url: cleaner.url(String(url)),
  events,
  status,
  secret: standIn,
  ...(headers !== undefined && { headers: cleaner.config({ headers })["headers"] }),
});
