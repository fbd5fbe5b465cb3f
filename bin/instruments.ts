import type { ArgsDef } from "citty";
import { jsonSchema } from "../lib/composition/openapi/json-schema.ts";
import type { ControlCall } from "../lib/emulator/control/call.ts";
import { controlCalls } from "../lib/emulator/control/calls.ts";
import type { Networks } from "../lib/kernel/trusted-networks.ts";
import { brokenRules } from "../lib/kernel/validation.ts";
import { brokenOption, UsageError } from "./arguments.ts";
import { formsOf, inputOf, type OperationInfo, partsOf, requiredOf } from "./call-fields.ts";
import { commandGroup, connectionArgs } from "./connection.ts";
import { controlOf } from "./control-client.ts";
import { command, type Given, type Listing, listed, word } from "./define-command.ts";
import { loadScenarios } from "./load-scenarios.ts";
import { wordsOf } from "./operation-help.ts";
import { formatAnswer, sayResult } from "./output.ts";

export type AnyCall = Omit<ControlCall<never>, "run">;
type Answer = Readonly<Record<string, unknown>>;

/** Describes a control call like an operation: its path parameters, query and body become fields. */
export function infoOf({ id = "", summary, description, example, method, path, query, body }: AnyCall): OperationInfo {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  const schemas = [query, body].flatMap((schema) => (schema ? [jsonSchema(schema)] : []));
  const fields = { allOf: [{ properties, required: names }, ...schemas] };
  return { id: id.replace(".", " "), summary, description, method, fields, path: names, example };
}

/** The fields that can be given as options. Records cannot: their fields are words such as `match.branch=main`. */
const flagsOf = ({ fields, path }: OperationInfo): string[] => {
  const parts = partsOf(fields);
  return parts.names.filter((name) => !path.includes(name) && partsOf(parts.of(name) ?? {}).names.length === 0);
};

const usageOf = (info: OperationInfo) =>
  ["svc-server", info.id, ...info.path.map((name) => name.toUpperCase()), ...wordsOf(info.example, "")].join(" ");

/** Only the emulator knows which networks it trusts, so the command accepts any network. */
const anyNetwork: Networks = { names: ["a network that the emulator trusts"], has: () => true };

/** Refuses an invalid option before a request is sent. The emulator checks fields that are given as words. */
function requireRight({ query, body }: AnyCall, input: object, flags: readonly string[]): void {
  const schema = query ?? body;
  for (const { path, message } of schema ? brokenRules(schema, input, { trusted: anyNetwork }) : []) {
    const [name = "", ...within] = path.split(".");
    if (flags.includes(name)) throw brokenOption(`option --${name}`, within.join("."), message);
  }
}

function wordsInput(call: AnyCall, info: OperationInfo, args: Given): Answer {
  const input = inputOf(info, args._);
  const flags = flagsOf(info).filter((name) => args[name] !== undefined);
  for (const name of flags) Object.assign(input, inputOf(info, [`${name}=${args[name]}`], `option --${name}`));
  requireRight(call, input, flags);
  return input;
}

export function requestOf(call: AnyCall, info: OperationInfo, given: Answer) {
  const input: Record<string, unknown> = { ...given };
  const missing = requiredOf(info.fields).find((name) => !Object.hasOwn(input, name));
  if (missing !== undefined) throw new UsageError(`${info.id} needs ${missing}: ${usageOf(info)}`);
  const path = call.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(input[name]);
    delete input[name];
    if (/^\.{0,2}$/.test(value)) throw new UsageError(`${info.id} needs ${name}: ${usageOf(info)}`);
    return encodeURIComponent(value);
  });
  if (call.body) return { call: `${call.method} ${path}` as const, body: input };
  const query = new URLSearchParams(
    Object.entries(input).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return { call: `${call.method} ${path}${query.size > 0 ? `?${query}` : ""}` as const };
}

/** Shorter output for people than a table of all fields. */
const texts: Readonly<Record<string, (answer: Answer) => string>> = {
  "snapshots.create": ({ id }) => String(id),
  "snapshots.restore": ({ id, now }) => `${id} is restored; the clock shows ${now}.`,
  "inbox.list": ({ data }) =>
    formatAnswer({
      data: (data as Answer[]).map(({ received_at, endpoint, body, response }) => ({
        ...{ received_at, endpoint, body, response },
      })),
    }),
};

function commandOf(call: AnyCall) {
  const { id = "" } = call;
  const info = infoOf(call);
  const parts = partsOf(info.fields);
  const isList = (name: string) => formsOf(parts.of(name) ?? {}).some(({ items }) => items);
  const flags = flagsOf(info);
  const args: ArgsDef = {
    ...Object.fromEntries(info.path.map((name) => [name, word(`The ${name === "id" ? "ID" : name}.`)])),
    ...Object.fromEntries(
      flags.map((name) => [
        name,
        { type: "string", description: `The same as ${name}=….`, valueHint: isList(name) ? "LIST" : "VALUE" },
      ]),
    ),
    ...connectionArgs,
  };
  const hasWords = parts.names.length > info.path.length;
  return command(
    id.slice(id.indexOf(".") + 1),
    call.description,
    args,
    async (args) => {
      const request = requestOf(call, info, wordsInput(call, info, args));
      const answer = await controlOf(args)<Answer>(request.call, request.body);
      sayResult(args, answer, (texts[id] ?? formatAnswer)(answer));
    },
    { anyWords: hasWords },
  );
}

/** The commands whose names begin with this word, generated from the calls of the control interface. */
const group = (name: string, more: Listing = {}) =>
  commandGroup(name, "list", {
    ...Object.fromEntries(
      controlCalls.flatMap((call) => {
        if (!call.id?.startsWith(`${name}.`)) return [];
        const listed = { summary: call.summary, example: usageOf(infoOf(call)), load: commandOf(call) };
        return [[call.id.slice(name.length + 1), listed]];
      }),
    ),
    ...more,
  });

export const inbox = group("inbox");
export const scenarios = group("scenarios", {
  load: listed("Add the scenarios of a file in their order", "scenarios load scenarios.json", loadScenarios),
});
export const faults = group("faults");
export const snapshots = group("snapshots");

const groups = { inbox, scenarios, faults, snapshots };

/** The fields of a command such as `scenarios add`; undefined for other commands. */
export function instrumentOf(words: readonly string[]): OperationInfo | undefined {
  const call = controlCalls.find(({ id }) => id === words.join("."));
  return call && Object.hasOwn(groups, words[0] ?? "") ? infoOf(call) : undefined;
}
