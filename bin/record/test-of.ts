import { withoutSecrets } from "../../lib/dashboard/page/forms/call-forms.ts";
import type { Known } from "../../lib/dashboard/page/recorder/recorded-before.ts";
import type { Actor } from "../../lib/dashboard/page/recorder/recorded-file.ts";
import {
  collectionOf,
  type Form,
  featureOf,
  identifiersIn,
  isRecord,
  isRunning,
  type Json,
} from "../../lib/dashboard/page/recorder/recorded-names.ts";
import { type Recording, recordedTest, type Step } from "../../lib/dashboard/page/recorder/recorded-test.ts";
import { createdAtOf } from "../../lib/dashboard/page/recorder/work-durations.ts";
import { isSecretName } from "../../lib/kernel/secrets/secret-redaction.ts";
import { type Account, named, type Recorder } from "./recorder.ts";
import { type People, readAccounts } from "./seed-of.ts";
import { type CallerStep, hasGet, type StepRecorder } from "./steps.ts";
import type { Cleaner } from "./without-secrets.ts";
import { outcomeOf } from "./work-outcome.ts";

const addressesIn = (value: unknown): string[] =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).flatMap(([name, one]) =>
        name === "email" && typeof one === "string" ? [one] : addressesIn(one),
      );

/** Removes people and secrets. Keeps fields that are entirely secret: the writer replaces them with placeholders. */
function createCleaning(cleaner: Cleaner, people: People) {
  const clean = (value: unknown, name = ""): unknown => {
    if (Array.isArray(value)) return value.map((one) => clean(one, name));
    if (isRecord(value)) {
      const isSecret = (key: string) => name === "headers" || (value["secret"] === true && key === "value");
      const person = people.find(({ real }) => real === value["email"]);
      const shown = person && { name: person.name, email: person.email };
      const entries = Object.entries(value).map(([key, one]) => [
        key,
        typeof one === "string" && isSecret(key) ? one : clean(one, key),
      ]);
      return { ...Object.fromEntries(entries), ...(shown && value["name"] !== undefined ? shown : {}) };
    }
    if (typeof value !== "string" || isSecretName(name) || name === "webhook_url" || identifiersIn(value).length > 0)
      return value;
    return name === "url" ? cleaner.url(value) : cleaner.text(value);
  };
  return clean;
}

/** The organization of a caller: the caller read it, or one of the caller's steps has a record of it. */
const organizationOf = (accounts: readonly Account[], { steps }: StepRecorder, caller: string): Json => {
  const readByCaller = accounts.find(({ callers }) => callers.includes(caller))?.organization.value;
  if (readByCaller?.["name"] !== undefined) return readByCaller;
  const ids = steps.flatMap((step) =>
    step.caller === caller ? identifiersIn([step.call.params, step.call.body, step.answer]) : [],
  );
  const has = (account: Account) => named.some((name) => ids.some((id) => account[name].has(id)));
  return accounts.find((one) => one.organization.value["name"] !== undefined && has(one))?.organization.value ?? {};
};

/** Who made the calls, by the hash of the key. Without `GET /me` it is an owner. */
const actorsOf = (recorded: StepRecorder, accounts: readonly Account[], people: People, cleaner: Cleaner) =>
  new Map(
    [...recorded.callers].map(([caller, { user }], i): [string, Actor] => {
      const organization = organizationOf(accounts, recorded, caller);
      const person = people.find(({ real }) => real === user?.["email"]);
      const unseen = { name: `Caller ${i + 1}`, email: `caller-${i + 1}@recorded.test`, role: "owner" };
      const { name, email, role } = person ?? unseen;
      const plan = String(organization["plan"] ?? "starter");
      const of = cleaner.text(String(organization["name"] ?? "recorded"));
      return [caller, { organization: of, plan, user_id: String(user?.["id"] ?? caller), name, email, role }];
    }),
  );

const outcomesOf =
  (accounts: readonly Account[], recorded: StepRecorder, cleaner: Cleaner) => (id: string, createdAt: number) => {
    const account = accounts.find(({ deployments, generations }) => deployments.has(id) || generations.has(id));
    const work = account?.deployments.get(id) ?? account?.generations.get(id);
    const cancel = recorded.steps.find(
      ({ call, problem }) => call.id?.endsWith(".cancel") && call.params["id"] === id && problem === undefined,
    );
    const sights = (recorded.sights.get(id) ?? []).filter(({ first }) => first < (cancel?.at ?? Infinity));
    if (!account || !work) return undefined;
    const { project_id, environment } = work.record;
    const freeAt = Math.max(
      0,
      ...[...account.deployments].map(([other, { record }]) =>
        other < id && record["project_id"] === project_id && record["environment"] === environment
          ? Date.parse(String(record["completed_at"])) || 0
          : 0,
      ),
    );
    return outcomeOf(
      {
        id,
        work,
        reason: account.reasons.get(id),
        sights,
        createdAt,
        freeAt,
        cancelledAt: cancel?.at,
        endedAt: recorded.span().endedAt,
      },
      cleaner,
    );
  };

/** The test that repeats a recording, and what it leaves out, with the reasons. */
export function testOf(recorder: Recorder, recorded: StepRecorder, keepsPeople: boolean, form: Form) {
  const invited = addressesIn(recorded.steps.map(({ call }) => call.body));
  const { accounts, people: peopleOfEach, cleaner } = readAccounts(recorder, keepsPeople, invited);
  const people = peopleOfEach.flat();
  const clean = createCleaning(cleaner, people);
  const { startedAt, endedAt } = recorded.span();
  const left = [...recorded.left];

  const actors = actorsOf(recorded, accounts, people, cleaner);
  const actorOf = ({ caller }: CallerStep) => actors.get(caller) as Actor;

  const outcomeFor = outcomesOf(accounts, recorded, cleaner);
  const kindOf = (id: string) => (id.startsWith("dep_") ? "deployment" : "generation");

  const steps = recorded.steps.flatMap((step): Step[] => {
    const { caller: _, ...given } = step;
    const cleaned = clean(given.call.body);
    const hasChanged = JSON.stringify(withoutSecrets(cleaned)) !== JSON.stringify(given.call.body);
    if (given.problem === "validation_failed" && hasChanged) {
      left.push(`${given.call.method} ${given.call.path} is not in the test: it has a secret`);
      return [];
    }
    const one: Step = { ...given, actor: actorOf(step), call: { ...given.call, body: cleaned } };
    const id = given.problem === undefined && isRecord(given.answer) ? String(given.answer["id"]) : "";
    const isNew = given.call.method === "POST" && /^(dep|gen)_/.test(id) && given.call.params["id"] !== id;
    const outcome = isNew ? outcomeFor(id, given.at) : undefined;
    if (!outcome) return [one];
    const call = { method: "POST", path: "/_svc/scenarios", id: undefined, params: {}, query: {} };
    return [{ ...one, call: { ...call, body: { next: kindOf(id), outcome } }, answer: {} }, one];
  });

  const known = new Map(
    [...recorded.known]
      .map(([id, { record, environments = [], ...more }]): [string, Known] => {
        const outcome = isRunning(id, record) ? outcomeFor(id, createdAtOf(record)) : undefined;
        const cleaned = { record: clean(record) as Json, environments: environments.map(cleaner.environment) };
        return [id, { ...more, ...cleaned, ...(outcome && { outcome }) }];
      })
      .sort(([a], [b]) => (a.slice(-26) < b.slice(-26) ? -1 : 1)),
  );
  const recording: Recording = {
    ...{ startedAt, endedAt, steps, known, scenarios: [], inboxes: [], isOfService: true },
    ends: endsOf(recorded),
    needsSeed: needsSeed(steps, [...known.keys()]),
  };
  return { text: recordedTest(recording, form), left };
}

/** Whether the calls need more than the first owner of a new service. */
function needsSeed(steps: readonly Step[], known: readonly string[]): boolean {
  return (
    new Set(steps.map(({ actor }) => actor.user_id)).size > 1 ||
    steps.some(({ actor }) => actor.role !== "owner" || actor.plan !== "starter") ||
    known.some((id) => id.startsWith("usr_"))
  );
}

/** The last states of the records in the steps, if the recording saw them and a test sees them too. */
function endsOf({ steps, sights, seen }: StepRecorder): Recording["ends"] {
  const ids = new Set(
    steps.flatMap(({ call, answer }) => [
      ...identifiersIn(call.params),
      ...identifiersIn(call.body),
      ...(isRecord(answer) ? identifiersIn(answer["id"]) : []),
    ]),
  );
  const isLive = (id: string) => {
    const { project_id, environment } = seen.get(id)?.record ?? {};
    return [...seen.values()].some(
      ({ record }) =>
        record["id"] !== id &&
        record["project_id"] === project_id &&
        record["environment"] === environment &&
        record["status"] === "active",
    );
  };
  return [...ids].flatMap((id): Recording["ends"][number][] => {
    if (!hasGet(featureOf(id) ?? collectionOf(id))) return [];
    const stepsOfRecord = steps.filter(
      ({ call, answer, problem }) =>
        problem === undefined && (call.params["id"] === id || (isRecord(answer) && answer["id"] === id)),
    );
    const last = stepsOfRecord.at(-1);
    if (last?.call.method === "DELETE" && last.call.path.endsWith(id)) return [{ id, problem: "not_found" }];
    if (/^(dep|gen)_/.test(id)) {
      const sight = sights.get(id)?.at(-1);
      if (!sight?.isRead || (sight.status === "rolled_back" && !isLive(id))) return [];
      return [{ id, status: sight.status }];
    }
    const status = isRecord(last?.answer) && last.answer["id"] === id ? last.answer["status"] : undefined;
    return status === undefined ? [] : [{ id, status }];
  });
}
