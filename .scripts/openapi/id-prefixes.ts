import { jsonSchema } from "../../lib/composition/openapi/json-schema.ts";
import { operations } from "../../lib/composition/operations.ts";
import { idOf } from "./examples.ts";

/** The prefixes of identifiers, by the collection before them in a path: `projects` → `proj`. */
export function idPrefixes(): [collection: string, prefix: string][] {
  const collections = new Set(
    operations.flatMap(({ path }) => path.split("/").filter((_, i, parts) => parts[i + 1]?.startsWith("{"))),
  );
  return [...collections].flatMap((collection): [string, string][] => {
    const list = operations.find(({ method, path }) => method === "GET" && path.endsWith(`/${collection}`));
    const { properties } = (list?.result ? jsonSchema(list.result) : {}) as {
      properties?: Record<string, { pattern?: string }>;
    };
    const [, prefix] = /^\^([a-z]+)_/.exec(properties?.["id"]?.pattern ?? "") ?? [];
    return prefix === undefined ? [] : [[collection, prefix]];
  });
}

/** An example of a path parameter: an identifier for the collection before it, or a name. */
export function pathExample(path: string, name: string): string {
  const [, collection] = new RegExp(`([\\w-]+)/\\{${name}\\}`).exec(path) ?? [];
  const [, prefix] = idPrefixes().find(([of]) => of === collection) ?? [];
  if (prefix !== undefined) return idOf(prefix);
  return path.startsWith("/repositories/") ? ({ owner: "acme", name: "web" }[name] ?? "") : "production";
}
