import type { SimulatedOutcome } from "../../../drivers/simulated-outcome.ts";
import type { InboxSettings } from "../../../emulator/instruments/inbox.ts";
import type { Scenario } from "../../../features/scenarios/service.ts";
import { inputOf, literalOf, Secret, withoutSecrets } from "../forms/call-forms.ts";
import type { RecordedCall } from "../recorded-call.ts";
import {
  collectionOf,
  creationOf,
  identifiersIn,
  isRecord,
  isRunning,
  type Json,
  type Names,
  singularOf,
} from "./recorded-names.ts";
import { createdAtOf, durationOf } from "./work-durations.ts";

/** A record from before the recording: its state at that time, and the list call that showed it. */
export interface Known {
  readonly record: Json;
  readonly list: { readonly call: RecordedCall; readonly index: number } | undefined;
  /** The environments, if the record is a project. */
  readonly environments?: readonly Json[];
  /** How the work goes on, if that is known. */
  readonly outcome?: SimulatedOutcome;
}

/** The state when a recording began. */
export interface Before {
  readonly startedAt: number;
  /** By identifier, oldest first. */
  readonly known: ReadonlyMap<string, Known>;
  readonly scenarios: readonly Scenario[];
  readonly inboxes: readonly InboxSettings[];
}

const withoutNulls = (value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null)) : value;

export const advanceLine = (ms: number) => `await service.clock.advance("${durationOf(ms)}");`;

/** Writes the lines of the test that recreate the earlier records. */
export function beforeWriter({ startedAt, known, scenarios, inboxes }: Before, names: Names, client: string) {
  const lines: string[] = [];
  /** Lines that must come last because they would block the others: an archived project accepts no deployment. */
  const last: string[] = [];
  /** A text of a record may name the record itself. */
  const begun = new Set<string>();

  const environment = (project: string, { name, variables, domains }: Json) => {
    const values = Object.entries(isRecord(variables) ? variables : {}).map(([variable, value]) =>
      // Secrets cannot be read, so a placeholder takes their place.
      isRecord(value) ? [variable, { value: new Secret(variable), secret: true }] : [variable, value],
    );
    const hosts = Array.isArray(domains) && domains.length > 0 ? { domains } : {};
    if (values.length === 0 && !("domains" in hosts)) return;
    const given = { id: project, name, variables: withoutSecrets(Object.fromEntries(values)), ...hosts };
    lines.push(`await ${client}.environments.put(${names.argument(given)});`);
  };

  /** Brings a newly created record to the state that it had. */
  const settle = (id: string, { status, completed_at }: Json) => {
    const collection = collectionOf(id) ?? "";
    const own = `${names.get(id)}.id`;
    if (status === "cancelled") lines.push(`await ${client}.${collection}.cancel({ id: ${own} });`);
    else if (typeof completed_at === "string" || /^(completed|succeeded)$/.test(String(status)))
      lines.push("await service.clock.runUntilIdle();");
    else if (status === "archived") last.push(`await ${client}.projects.archive({ id: ${own} });`);
    else if (status === "inactive")
      last.push(`await ${client}.${collection}.update({ id: ${own}, status: "inactive" });`);
    for (const one of known.get(id)?.environments ?? []) environment(id, one);
  };

  const create = (id: string, record: Json, creation: { readonly id: string; readonly fields: string }) => {
    const fields = creation.fields.split(" ").flatMap((name) => {
      const value = withoutNulls(record[name]);
      return value === null || value === undefined ? [] : [[name, value]];
    });
    const body = Object.fromEntries(fields);
    for (const one of identifiersIn(body)) declare(one);
    const ended = { failed: { result: "fail" }, rolled_back: { result: "rolled_back", at: "deploying" } };
    const outcome = known.get(id)?.outcome ?? ended[record["status"] as keyof typeof ended];
    if (outcome) {
      const kind = literalOf(singularOf(collectionOf(id) ?? ""));
      lines.push(`await service.scenarios.next(${kind}, ${literalOf(outcome)});`);
    }
    const argument = names.argument(withoutSecrets(body));
    lines.push(`const ${names.nameFor(id)} = await ${client}.${creation.id}(${argument});`);
    settle(id, record);
  };

  const find = ({ call, index }: NonNullable<Known["list"]>, id: string, { email }: Json) => {
    const input = inputOf(call);
    for (const one of identifiersIn(input)) declare(one);
    const found = typeof email === "string" ? `.find(({ email }) => email === ${literalOf(email)})` : `.at(${index})`;
    const name = names.nameFor(id);
    lines.push(`const ${name} = (await ${client}.${call.id}(${names.argument(input)})).data${found};`);
    lines.push(`assert.ok(${name});`);
  };

  /** Creates a record that a step refers to and that no step created. */
  const declare = (id: string): void => {
    const { record, list } = known.get(id) ?? {};
    if (names.has(id) || !record || begun.has(id)) return;
    begun.add(id);
    const creation = creationOf(collectionOf(id));
    if (creation) create(id, record, creation);
    else if (collectionOf(id) === "invitations") {
      const { email, role } = record;
      lines.push(`const ${names.nameFor(id)} = await ${client}.users.invite(${names.argument({ email, role })});`);
    } else if (list) find(list, id, record);
  };

  /** Replaces a delivery from before the recording: the generated code sends a test event to the same endpoint. */
  const delivery = (id: string, family: string, endpoint: string): void => {
    if (names.has(id)) return;
    declare(endpoint);
    lines.push(`const ${names.nameFor(id)} = await ${client}.${family}.test({ id: ${names.get(endpoint)}.id });`);
    lines.push("await service.settle();");
  };

  /** Recreates work that was running when the recording began, and advances it to its state at that time. */
  const running = (ids: readonly string[]): void => {
    let at: number | undefined;
    for (const id of ids) {
      const created = createdAtOf(known.get(id)?.record ?? {});
      if (at !== undefined && created > at) lines.push(advanceLine(created - at));
      declare(id);
      at = Math.max(at ?? 0, created);
    }
    if (at !== undefined && startedAt > at) lines.push(advanceLine(startedAt - at));
  };

  return {
    declare,
    delivery,
    take: () => lines.splice(0),
    all(ids: readonly string[]): string[] {
      const isRunningNow = (id: string) => isRunning(id, known.get(id)?.record ?? {});
      for (const id of ids) if (!isRunningNow(id)) declare(id);
      for (const { id, match, next, outcome, times, used } of scenarios) {
        const left = times === null ? undefined : times - used;
        if (left === 0 || (next !== null && used > 0)) continue;
        const given = next === null ? { match, outcome, times: left } : { next, outcome };
        last.push(`const ${names.nameFor(id, "scenario")} = await service.scenarios.add(${literalOf(given)});`);
      }
      for (const { endpoint, responses } of inboxes)
        if (responses.length > 0) last.push(`service.inbox.script(${literalOf(endpoint)}, ${literalOf(responses)});`);
      running(ids.filter(isRunningNow));
      return [...lines.splice(0), ...last.splice(0)];
    },
  };
}
