import * as v from "valibot";
import { didYouMean } from "../kernel/did-you-mean.ts";
import { detailOf, isUnknown } from "../kernel/validation.ts";
import type { Description } from "./option-types.ts";
import { optionsSchema } from "./options-schema.ts";

export type Options = v.InferInput<typeof optionsSchema>;
export type Settings = v.InferOutput<typeof optionsSchema>;

export class BadOptions extends Error {
  override readonly name = "BadOptions";
  /** The option that is wrong, dotted: `deployments.concurrency`. */
  readonly path: string;
  /** What it must be. */
  readonly rule: string;

  constructor(path: string, rule: string) {
    super(`option ${path} ${rule}`);
    this.path = path;
    this.rule = rule;
  }
}

/** Reads the options, or says in one sentence which one is wrong and what would be right. */
export function parseOptions(given: unknown): Settings {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new TypeError("the options must be an object");
  const result = v.safeParse(optionsSchema, given);
  if (!result.success) {
    const [issue] = result.issues;
    const { path, message } = detailOf(issue);
    throw new BadOptions(path, isUnknown(issue) ? message + nearestOption(path) : message);
  }
  const { mode, clock, key, database, random } = result.output;
  if (mode === "start" && clock !== "real") throw new BadOptions("clock", "must be real in the mode start");
  if (mode === "start" && key !== undefined)
    throw new BadOptions("key", "is for the mode dev; make a key with: svc-server keys create");
  if (mode === "start" && random !== undefined)
    throw new BadOptions("random", "is for the mode dev; a seeded key could be guessed");
  if (mode === "start" && result.output.transport !== undefined) {
    throw new BadOptions("transport", "is for the mode dev; in start everything goes over the network");
  }
  if (/^postgres(ql)?:/.test(database))
    throw new BadOptions("database", "must be :memory: or a path; this version has no PostgreSQL store yet");
  return result.output;
}

/** One option, wherever it is set. */
export interface Declared {
  /** Dotted: `deployments.concurrency`. */
  readonly path: string;
  readonly help: string;
  readonly fallback: unknown;
  /** The flag of the commands that sets it, where there is one. */
  readonly flag: string | undefined;
  /** What stands for the flag's value; undefined for a switch. */
  readonly value: string | undefined;
  /** How text says it; undefined for what text cannot say, such as a function. */
  readonly written: "text" | "number" | "switch" | "list" | "json" | "file" | undefined;
}

const forms: Readonly<Record<string, Declared["written"]>> = {
  string: "text",
  picklist: "text",
  number: "number",
  boolean: "switch",
  array: "list",
  record: "json",
};

/** Every option, in the order of the table. */
export const declared: readonly Declared[] = leavesOf(optionsSchema.entries, "");

function leavesOf(entries: v.ObjectEntries, within: string): Declared[] {
  return Object.entries(entries).flatMap(([name, entry]) => {
    const { wrapped, default: fallback } = entry as v.OptionalSchema<v.GenericSchema, unknown>;
    if ("entries" in wrapped) return leavesOf(wrapped.entries as v.ObjectEntries, `${within}${name}.`);
    const path = within + name;
    const { help = "", flag, value } = v.getMetadata(wrapped) as Partial<Description>;
    // A seed is an object, which text names as a file; the mode is the command itself.
    const written = path === "mode" ? undefined : (forms[wrapped.type] ?? (flag === undefined ? undefined : "file"));
    return { path, help, fallback, flag, value, written };
  });
}

/** The end of a sentence about an option that there is not: the nearest of its level, or how a dotted one is nested. */
function nearestOption(path: string): string {
  if (declared.some((one) => one.path === path))
    return `; nest it: ${path.split(".").reduceRight((below, name) => `{"${name}":${below}}`, "…")}`;
  const level = path.slice(0, path.lastIndexOf(".") + 1);
  const beside = declared.filter((one) => one.path.startsWith(level));
  const names = beside.map((one) => one.path.slice(level.length).split(".", 1)[0] ?? "");
  return didYouMean(path.slice(level.length), names, level);
}

/** The variable that sets an option in the environment: `SVC_DEPLOYMENTS_CONCURRENCY`. */
export const variableOf = ({ path }: Pick<Declared, "path">) =>
  `SVC_${path.replaceAll(/[A-Z]/g, "_$&").replaceAll(".", "_").toUpperCase()}`;
