import { prefixes } from "../../../client/generated/calls.ts";
import { literalOf, Secret } from "../forms/call-forms.ts";
import { creations } from "../generated/creations.ts";

export type Json = { readonly [name: string]: unknown };
export const isRecord = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const identifier = /^([a-z]+)_[0-9A-HJKMNP-TV-Z]{26}$/;
export const collectionOf = (id: string) =>
  Object.entries(prefixes).find(([, prefix]) => prefix === identifier.exec(id)?.[1])?.[0];
export const creationOf = (collection = "") =>
  Object.hasOwn(creations, collection) ? creations[collection as keyof typeof creations] : undefined;
/** The feature of the client that reads a record. */
export const featureOf = (id: string): string | undefined => {
  const collection = collectionOf(id);
  return creationOf(collection)?.id.split(".")[0] ?? collection;
};

/** Every identifier in a value. */
export const identifiersIn = (value: unknown): string[] =>
  typeof value === "string"
    ? identifier.test(value)
      ? [value]
      : []
    : typeof value === "object" && value !== null
      ? Object.values(value).flatMap(identifiersIn)
      : [];

/** `projects` → `project`, `api-keys` → `apiKey`, `deliveries` → `delivery`. */
export const singularOf = (collection: string) =>
  collection
    .replace(/ies$/, "y")
    .replace(/s$/, "")
    .replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The variable names in a recorded test: for its records and for the placeholders of secrets. */
export function createNames() {
  const names = new Map<string, string>();
  const secrets = new Map<string, string>();
  const written = (value: unknown) => {
    if (value instanceof Secret) {
      secrets.set(value.variable, value.placeholder);
      return `secrets.${value.variable}`;
    }
    const name = typeof value === "string" ? names.get(value) : undefined;
    return name && `${name}.id`;
  };
  return {
    has: (id: string) => names.has(id),
    get: (id: string) => names.get(id),
    secrets,
    written,
    /** Chooses a new name for a record, derived from its collection or from another word. */
    nameFor(id: string, word = singularOf(collectionOf(id) ?? "record")): string {
      const taken = [...names.values()].filter((name) => name.replace(/\d+$/, "") === word).length;
      const name = taken === 0 ? word : `${word}${taken + 1}`;
      names.set(id, name);
      return name;
    },
    /** The input of a call as the source of its argument. */
    argument(value: unknown): string {
      const text = literalOf(value, written);
      return text === "{}" ? "" : text;
    },
    /** The source of a path in which variables of the test replace the identifiers of named records. */
    path(text: string): string {
      const parts = text.split("/").map((part) => {
        const name = names.get(decodeURIComponent(part));
        return name ? `\${${name}.id}` : part;
      });
      const joined = parts.join("/");
      return joined === text ? literalOf(text) : `\`${joined}\``;
    },
  };
}

export type Names = ReturnType<typeof createNames>;

/** Whether a record is work that has not ended. */
export const isRunning = (id: string, { status }: Json): boolean =>
  /^(dep|gen)_/.test(id) && ["queued", "building", "deploying", "in_progress"].includes(String(status));

/** The test runners: how each names its module, the context of a test, and the fake timers that move with the service. */
export const runners = {
  "node:test": {
    module: "node:test",
    context: "t",
    fakes: { name: "t.mock.timers", call: 't.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"] });' },
  },
  Vitest: { module: "vitest", context: "t", fakes: { name: "vi", call: "vi.useFakeTimers();" } },
  Jest: {
    module: "@jest/globals",
    context: undefined,
    fakes: { name: "jest", call: 'jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask"] });' },
  },
} as const;
export type Runner = keyof typeof runners;

/** For which runner a test is written, and whether the runner's fake timers move with the service. */
export interface Form {
  readonly runner: Runner;
  readonly hasTimers: boolean;
  /** The name of the test; an empty one says where it was recorded. */
  readonly title?: string;
}
