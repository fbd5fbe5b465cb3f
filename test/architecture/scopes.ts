import type { Node, Source } from "./source.ts";

/** `lib/store/` takes scopes from its callers. */
const definesScopes = /^lib\/store\/|^(bin|test)\//;

/** The transactions that lock every organization: file and function with the scope `"all"`. */
export function widestScopes(all: readonly Source[]): string[] {
  const found: string[] = [];
  const search = (path: string, node: Node, name: string) => {
    if (node.type === "Literal" && node["value"] === "all") found.push(`${path} ${name}`);
    // A type passes no scope.
    if (node.type.startsWith("TS")) return;
    const named = node.type === "Property" ? node["key"] : node["id"];
    for (const part of Object.values(node))
      for (const child of Array.isArray(part) ? part : [part])
        if (typeof child?.type === "string") search(path, child, named?.name ?? name);
  };
  for (const { path, text, program } of all)
    if (!definesScopes.test(path) && text.includes('"all"'))
      search(path.slice("lib/".length, -".ts".length), program, "");
  return found.sort();
}

/** The places that the map lists, each with its reason: "- `composition/bootstrap` `fill`: …". */
export const listedScopes = (map: string): string[] =>
  [...map.matchAll(/^ *- `([\w/-]+)` `(\w+)`: \S/gm)].map(([, path, name]) => `${path} ${name}`).sort();
