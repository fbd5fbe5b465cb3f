import { type Node, nameOf, type Source } from "./source.ts";

export interface Query {
  readonly name: string;
  readonly kind: string;
  readonly given: Node;
  readonly isShared: boolean;
  readonly line: number;
}

const kinds = ["all", "first", "find", "update", "change", "pipelined", "count", "insert", "insertUnique", "pages"];

/** Every `query.first(…)` of a repository, under the name of the property or constant that it becomes. */
export function queriesOf(source: Source): Query[] {
  const found: Query[] = [];
  const search = (node: Node, name: string) => {
    const key = node.type === "Property" ? node["key"] : node.type === "VariableDeclarator" ? node["id"] : undefined;
    const called = node.type === "CallExpression" ? nameOf(node["callee"]) : "";
    const kind = /^query\.(\w+)$/.exec(called)?.[1] ?? "";
    if (kinds.includes(kind))
      found.push({
        name,
        kind,
        given: kind === "find" || kind === "update" ? node : node["arguments"][0],
        isShared: kind !== "update" && node["arguments"].length > (kind === "find" ? 2 : 1),
        line: source.line(node),
      });
    for (const part of Object.values(node)) {
      for (const child of Array.isArray(part) ? part : [part]) {
        if (typeof child?.type === "string") search(child, key?.name ?? name);
      }
    }
  };
  search(source.program, "");
  return found;
}
