import { prefixes } from "../../client/calls.ts";
import { inputOf, literalOf, withoutSecrets } from "./call-forms.ts";
import type { Call } from "./calls.ts";
import { creations } from "./creations.ts";
import { type Actor, fileOf } from "./recorded-file.ts";

export type Json = { readonly [name: string]: unknown };

/** A write, and how it ended at this time of the service. */
export interface Step {
  readonly call: Call;
  readonly actor: Actor;
  readonly at: number;
  readonly answer: unknown;
  readonly problem: string | undefined;
}

/** A record that was there before: as it was then, and the list that showed it. */
export interface Known {
  readonly record: Json;
  readonly list: { readonly call: Call; readonly index: number } | undefined;
}

export interface Recording {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly steps: readonly Step[];
  /** By their identifiers, the oldest first. */
  readonly known: ReadonlyMap<string, Known>;
  /** The state in which each record of the steps was in the end, or the problem of reading it. */
  readonly ends: readonly { readonly id: string; readonly status?: unknown; readonly problem?: string | undefined }[];
  /** Whether somebody else than the first owner acted. */
  readonly hasPeople: boolean;
}

export const identifier = /^([a-z]+)_[0-9A-HJKMNP-TV-Z]{26}$/;
const collectionOf = (id: string) =>
  Object.entries(prefixes).find(([, prefix]) => prefix === identifier.exec(id)?.[1])?.[0];
const creationOf = (collection = "") =>
  Object.hasOwn(creations, collection) ? creations[collection as keyof typeof creations] : undefined;
/** The feature of the client that reads a record. */
export const featureOf = (id: string): string | undefined => {
  const collection = collectionOf(id);
  return creationOf(collection)?.id.split(".")[0] ?? collection;
};
export const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `projects` → `project`, `api-keys` → `apiKey`, `deliveries` → `delivery`. */
const singularOf = (collection: string) =>
  collection
    .replace(/ies$/, "y")
    .replace(/s$/, "")
    .replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Every identifier in a value. */
export const identifiersIn = (value: unknown): string[] =>
  typeof value === "string"
    ? identifier.test(value)
      ? [value]
      : []
    : typeof value === "object" && value !== null
      ? Object.values(value).flatMap(identifiersIn)
      : [];

const durationOf = (ms: number) => {
  const units = [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
    ["ms", 1],
  ] as const;
  const [unit, size] = units.find(([, one]) => ms % one === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
};

/** The file of a test that does the same to a service of its own. */
export function recordedTest(recording: Recording): string {
  const { startedAt, endedAt, steps, known, ends, hasPeople } = recording;
  const names = new Map<string, string>();
  const lines: string[] = [];

  const nameFor = (id: string) => {
    const base = singularOf(collectionOf(id) ?? "record");
    const taken = [...names.values()].filter((name) => name.replace(/\d+$/, "") === base).length;
    const name = taken === 0 ? base : `${base}${taken + 1}`;
    names.set(id, name);
    return name;
  };
  const written = (value: unknown) => {
    const name = typeof value === "string" ? names.get(value) : undefined;
    return name && `${name}.id`;
  };
  const argument = (value: unknown) => {
    const text = literalOf(value, written);
    return text === "{}" ? "" : text;
  };

  const actors = [...new Map(steps.map(({ actor }) => [actor.user_id, actor])).values()];
  const clients = new Map(
    actors.map(({ user_id, role }, i): [string, string] => [user_id, hasPeople ? `${role}${i + 1}` : "client"]),
  );
  const [first = "client"] = clients.values();
  const keyOf = (i: number) => `sk_live_recorded_${i + 1}`;

  /** Makes what a step names and no step has made. */
  const declare = (id: string): void => {
    const { record, list } = known.get(id) ?? {};
    if (names.has(id) || !record) return;
    const creation = creationOf(collectionOf(id));
    if (creation) {
      const fields = creation.fields.split(" ").flatMap((name) => {
        const value = withoutNulls(record[name]);
        return value === null || value === undefined ? [] : [[name, value]];
      });
      const body = Object.fromEntries(fields);
      for (const one of identifiersIn(body)) declare(one);
      const { status } = record;
      if (status === "failed" || status === "rolled_back")
        lines.push(
          `await service.scenarios.next(${literalOf(singularOf(collectionOf(id) ?? ""))}, { result: ${status === "failed" ? '"fail"' : '"rolled_back", at: "deploying"'} });`,
        );
      lines.push(`const ${nameFor(id)} = await ${first}.${creation.id}(${argument(withoutSecrets(body))});`);
      if (typeof record["completed_at"] === "string") lines.push("await service.clock.runUntilIdle();");
    } else if (list) {
      const input = inputOf(list.call);
      for (const one of identifiersIn(input)) declare(one);
      const find =
        typeof record["email"] === "string"
          ? `.find(({ email }) => email === ${literalOf(record["email"])})`
          : `.at(${list.index})`;
      const name = nameFor(id);
      lines.push(`const ${name} = (await ${first}.${list.call.id}(${argument(input)})).data${find};`);
      lines.push(`assert.ok(${name});`);
    }
  };

  const madeBy = ({ call, answer }: Step) =>
    call.method === "POST" && isRecord(answer) && typeof answer["id"] === "string" && !names.has(answer["id"])
      ? answer["id"]
      : undefined;
  const made = new Set(
    steps.flatMap(({ answer, call }) =>
      call.method === "POST" && isRecord(answer) && typeof answer["id"] === "string" && !known.has(answer["id"])
        ? [answer["id"]]
        : [],
    ),
  );

  for (const id of known.keys()) if (!made.has(id) && creationOf(collectionOf(id))) declare(id);
  if (lines.length > 0) {
    lines.unshift("// What was there before.");
    lines.push("", "// What was done.");
  }
  let at = startedAt;
  const advanceTo = (time: number) => {
    if (time > at) lines.push(`await service.clock.advance("${durationOf(time - at)}");`);
    at = Math.max(at, time);
  };
  for (const step of steps) {
    const { call, actor, problem } = step;
    advanceTo(isClock(call) ? at : step.at);
    if (isClock(call)) continue;
    for (const id of identifiersIn(inputOf(call))) declare(id);
    const input = argument(inputOf(call));
    const text =
      call.id === undefined ? controlText(call, written) : `${clients.get(actor.user_id)}.${call.id}(${input})`;
    const id = madeBy(step);
    if (problem !== undefined) lines.push(`await assert.rejects(${text}, { code: ${literalOf(problem)} });`);
    else lines.push(id === undefined ? `await ${text};` : `const ${nameFor(id)} = await ${text};`);
  }
  advanceTo(endedAt);
  const reads = ends.filter(({ id }) => names.has(id));
  if (reads.length > 0) lines.push("", "// What came of it.");
  for (const { id, status, problem } of reads) {
    const get = `${first}.${featureOf(id)}.get({ id: ${names.get(id)}.id })`;
    lines.push(
      problem === undefined
        ? `assert.equal((await ${get}).status, ${literalOf(status)});`
        : `await assert.rejects(${get}, { code: ${literalOf(problem)} });`,
    );
  }
  return fileOf({
    lines,
    startedAt,
    hasPeople,
    actors,
    clients,
    keyOf,
    people: [...known.values()].map(({ record }) => record),
  });
}

const isClock = ({ path }: Call) => /^\/_svc\/(clock\/\w+|settle)$/.test(path);
const withoutNulls = (value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null)) : value;

/** A call of the control interface on a service in the process. */
function controlText({ method, path, body }: Call, written: (value: unknown) => string | undefined): string {
  const [, kind] = /^\/_svc\/(scenarios|faults)$/.exec(path) ?? [];
  if (method === "POST" && kind) return `service.${kind}.add(${literalOf(body, written)})`;
  const json =
    body === undefined
      ? ""
      : `, headers: { "content-type": "application/json" }, body: JSON.stringify(${literalOf(body, written)})`;
  return `service.fetch(${literalOf(path)}, { method: ${literalOf(method)}${json} })`;
}
