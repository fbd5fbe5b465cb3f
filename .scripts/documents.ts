import { seed } from "../lib/config/seed.ts";
import { catalog } from "../lib/events/catalog.ts";
import type { Operation } from "../lib/kernel/operation.ts";
import { openapi } from "../lib/openapi/document.ts";
import { jsonSchema } from "../lib/openapi/json-schema.ts";
import { operations } from "../lib/operations.ts";
import { pages } from "./pages.ts";

/** Generated from the code, so that it cannot rot: the JSON files of schema/, and the marked parts of the pages. */
export interface Document {
  readonly path: string;
  readonly text: string;
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** What an editor shows of a method of the typed client. */
const methodDoc = ({ summary, method, path, needs }: Operation) => {
  const key = needs === "nothing" ? "no key" : needs === "key" ? "any key" : `the scope \`${needs}\``;
  return `/** ${summary}. \`${method} ${path}\` with ${key}. */`;
};

/** The prefixes of identifiers, by the collection that a path names before them: `projects` → `proj`. */
function idPrefixes(): [collection: string, prefix: string][] {
  const collections = new Set(operations.flatMap(({ path }) => path.match(/[\w-]+(?=\/\{)/g) ?? []));
  return [...collections].flatMap((collection): [string, string][] => {
    const list = operations.find(({ method, path }) => method === "GET" && path.endsWith(`/${collection}`));
    const { properties } = (list?.result ? jsonSchema(list.result) : {}) as {
      properties?: Record<string, { pattern?: string }>;
    };
    const [, prefix] = /^\^([a-z]+)_/.exec(properties?.["id"]?.pattern ?? "") ?? [];
    return prefix === undefined ? [] : [[collection, prefix]];
  });
}

/** The browser's client cannot hold the operations, whose schemas are the service's: it has their calls. */
function clientCalls(): string {
  const features = [...new Set(operations.map(({ id }) => id.split(".")[0]))].map((feature) => {
    const methods = operations
      .filter(({ id }) => id.startsWith(`${feature}.`))
      .map((operation) => {
        const { id, method, path, body } = operation;
        const verb = id.slice(`${feature}.`.length);
        return `    ${methodDoc(operation)}\n    ${verb}: "${method} ${path}${body ? " {}" : ""}",`;
      });
    return `  ${feature}: {\n${methods.join("\n")}\n  },`;
  });
  return `/**
 * Written by \`npm run generate\`: method and path of every operation, and \`{}\` where it takes a body. The typed client takes
 * its methods and their doc comments from here.
 */
export const calls = {
${features.join("\n")}
} as const;

/** The prefix of the identifiers in each collection of the paths. */
export const prefixes = {
${idPrefixes()
  .map(([collection, prefix]) => `  ${/^\w+$/.test(collection) ? collection : `"${collection}"`}: "${prefix}",`)
  .join("\n")}
} as const;
`;
}

export async function documents(): Promise<Document[]> {
  return [
    { path: "schema/seed.schema.json", text: json({ title: "A seed of svc-server", ...jsonSchema(seed) }) },
    {
      path: "schema/events.json",
      text: json({
        title: "The data of each event of svc-server",
        events: Object.fromEntries(Object.entries(catalog).map(([name, data]) => [name, jsonSchema(data)])),
      }),
    },
    { path: "schema/openapi.json", text: json(await openapi("flat")) },
    { path: "schema/openapi-full.json", text: json(await openapi("full")) },
    { path: "lib/client/calls.ts", text: clientCalls() },
    ...(await pages()),
  ];
}
