import assert from "node:assert/strict";
import { test } from "node:test";
import { eventDataName, inputName, inputOf, optionLeaves, records } from "../../.scripts/declarations.ts";
import { type Json, jsonSchema } from "../../lib/composition/openapi/json-schema.ts";
import { operations } from "../../lib/composition/operations.ts";
import { catalog } from "../../lib/features/events/catalog.ts";
import { startLanguageService } from "../helpers/language-service.ts";

/** A field that editors must document: the code that reaches it, and its description in the schema. */
interface Documented {
  /** The name for people: `ProjectsCreateInput.name`. */
  readonly place: string;
  /** An expression that ends with the name of the field. */
  readonly code: string;
  readonly meaning: string | undefined;
  /** False for objects: their fields have the examples. */
  readonly needsExample: boolean;
  /** Whether callers may leave it out, so that its description must tell what happens then. */
  readonly needsDefault: boolean;
}

type Shape = Json & {
  readonly anyOf?: readonly Json[];
  readonly oneOf?: readonly Json[];
  readonly items?: Json;
  readonly properties?: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Json | boolean;
  readonly description?: string;
};

/** Every field of a schema, at any depth. `code` is an expression of the schema's type. */
function fieldsIn(schema: Json, place: string, code: string, isInput: boolean, union?: string): Documented[] {
  const {
    anyOf,
    oneOf,
    items,
    properties = {},
    required = [],
    additionalProperties: more,
    description: about = "",
  } = schema as Shape;
  const { const: kind } = (properties["type"] ?? {}) as { readonly const?: unknown };
  const base =
    kind !== undefined && union !== undefined
      ? `kind(${code}, ${JSON.stringify(kind)})`
      : union !== undefined
        ? `member(${code}, ${Object.keys(properties).map((name) => `"${name}"`)})`
        : `${code}!`;
  const own = Object.entries(properties).flatMap(([name, field]) => {
    const at = `${place}.${name}`;
    const expression = `${base}.${name}`;
    const inner = fieldsIn(field, at, expression, isInput);
    const { description, default: fallback } = field as Shape;
    const needsDefault =
      isInput && !required.includes(name) && fallback === undefined && !staysWithout.test(union ?? about);
    return [
      { place: at, code: expression, meaning: description, needsExample: inner.length === 0, needsDefault },
      ...inner,
    ];
  });
  return [
    ...own,
    ...(anyOf ?? oneOf ?? []).flatMap((one) => fieldsIn(one, place, code, isInput, about)),
    ...(items ? fieldsIn(items, `${place}[]`, `list(${code})[0]`, isInput) : []),
    ...(typeof more === "object" ? fieldsIn(more, `${place}.*`, `map(${code})["x"]`, isInput) : []),
  ];
}

/** The phrase with which an object describes all fields left out. */
const staysWithout = /left out stay/;

async function everyField(): Promise<Documented[]> {
  const { byName } = await records();
  const of = (type: string, schema: Json, isInput: boolean) => fieldsIn(schema, type, `of<types.${type}>()`, isInput);
  const answers = Object.entries(byName).flatMap(([name, schema]) => of(name, schema, false));
  const inputs = operations.flatMap((operation) => of(inputName(operation), inputOf(operation), true));
  const events = Object.entries(catalog).flatMap(([name, data]) => of(eventDataName(name), jsonSchema(data), false));
  const leaves = optionLeaves();
  /** The expression of an option. `branch` picks the group from a union, because a group may have other types too. */
  const codeOf = (path: string): string =>
    path.split(".").reduce((above, name) => `branch(${above}, "${name}")!.${name}`, "of<types.Options>()");
  const options = leaves.flatMap(({ path, schema, help, fallback, required }) => {
    const code = codeOf(path);
    const inner = fieldsIn(schema, `Options.${path}`, code, true);
    const needsDefault = fallback === undefined && !required;
    return [
      { place: `Options.${path}`, code, meaning: help, needsExample: inner.length === 0, needsDefault },
      ...inner,
    ];
  });
  const all = [...answers, ...inputs, ...events, ...options];
  return [...new Map(all.map((one) => [one.code, one])).values()];
}

/** Words that tell what happens if a field is left out. */
const aboutDefault = /\bdefault|\bleft out|\bleaves? out|\bwithout|\bunless\b|\bonly\b|\binstead\b/i;

test("the schema of every option, input, answer and event says what each field means", async (t) => {
  const fields = await everyField();
  t.diagnostic(`${fields.length} fields`);
  assert.ok(fields.length > 400, `${fields.length}`);
  const mistakes = fields.flatMap(({ place, meaning = "", needsDefault }) =>
    meaning === ""
      ? [`${place} has no description; write it in the schema, as field(schema, "…")`]
      : needsDefault && !aboutDefault.test(meaning)
        ? [`${place} does not say what happens without it; add it to the description: ${meaning}`]
        : [],
  );
  assert.equal(mistakes.length, 0, `\n${mistakes.join("\n")}`);
});

test("an editor shows the meaning and an example of every option, input, answer and event", async (t) => {
  const fields = await everyField();
  const head = `import type * as client from "../../lib/client.ts";
import type * as main from "../../lib/index.ts";
declare namespace types { export type Options = main.Options; ${[
    ...new Set(fields.map(({ place }) => /^\w+/.exec(place)?.[0] ?? "")),
  ]
    .filter((name) => name !== "Options")
    .map((name) => `export type ${name} = client.${name};`)
    .join(" ")} }
type Member<T, K> = T extends object ? ([keyof T, K] extends [K, keyof T] ? T : never) : never;
type With<T, K extends string> = T extends { [Name in K]?: unknown } ? (T extends boolean | ((...given: never[]) => unknown) ? never : T) : never;
declare const of: <T>() => T;
declare const member: <T, const K extends string>(of: T, ...keys: K[]) => Member<NonNullable<T>, K>;
declare const kind: <T, const K>(of: T, kind: K) => Extract<NonNullable<T>, { type: K }>;
declare const branch: <T, const K extends string>(of: T, key: K) => With<NonNullable<T>, K>;
declare const list: <T>(of: T) => Extract<NonNullable<T>, readonly unknown[]>;
declare const map: <T>(of: T) => Extract<NonNullable<T>, Record<string, unknown>>;
`;
  const first = head.split("\n").length - 1;
  const text = head + fields.map(({ code }) => `${code};`).join("\n");
  const file = await startLanguageService(t).open("test/client/hover.probe.ts", text);
  const shown = await Promise.all(
    fields.map(({ code }, i) => file.hover({ line: first + i, character: code.length - 1 })),
  );
  const mistakes = fields.flatMap(({ place, meaning = "", needsExample }, i) => {
    const hover = shown[i] ?? "";
    if (!hover.includes(meaning)) return [`${place} shows ${JSON.stringify(hover)}, and not: ${meaning}`];
    return needsExample && !/@example/.test(hover)
      ? [`${place} shows no example; add one to .scripts/openapi/examples.ts`]
      : [];
  });
  assert.equal(mistakes.length, 0, `\n${mistakes.join("\n")}`);
});

test("answers have names, arrays that can change, and waitUntilDone beside the calls", async (t) => {
  const text = `import { createClient } from "../../lib/client.ts";
const client = createClient({ baseUrl: "http://localhost/v1" });
const page = await client.deployments.list({ status: "active" });
const deployment = await client.deployments.waitUntilDone("dep_1");
page.data.push(deployment);
client.deployments.logs({ id: "dep_1", follow: true });
client.deployments.list;
`;
  const file = await startLanguageService(t).open("test/client/hover.probe.ts", text);
  const line = (of: string) => text.split("\n").findIndex((one) => one.includes(of));
  assert.match(await file.hover({ line: line("const page"), character: 7 }), /const page: Page<DeploymentItem>/);
  assert.match(await file.hover({ line: line("const deployment"), character: 7 }), /: Deployment & WithMeta/);
  assert.match(await file.hover({ line: line("page.data"), character: 6 }), /: DeploymentItem\[\]/);
  assert.match(await file.hover({ line: line("logs("), character: 40 }), /follow\?: boolean/);
  const offered = await file.completions({ line: line("deployments.list;"), character: 19 });
  assert.ok(offered.includes("waitUntilDone"), offered.join(" "));
});
