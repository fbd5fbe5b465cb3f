import { type Node, nameOf, nodes, type Source } from "./source.ts";

/** How many lines outside of `lib/store/` may differ between SQLite and PostgreSQL. */
export const mostEngineLines = 60;

/** Names that ask which engine there is: they name one, or what one of them alone has (`lib/store/engine.ts`). */
const asks = /[Pp]ostgres|[Ss]qlite|^(shared|isShared|counters|noImages)$/;
/** `opened.images`; what comes of it is the same for any engine that has it. */
const asksOf = ({ type, object, property }: Node) =>
  type === "MemberExpression" && property.name === "images" && nameOf(object).endsWith("opened");
/** Drivers and the client know no store, and the page none of these files. */
const knowsNone = /^(lib\/(store|drivers|client|dashboard\/page)|test)\//;

/**
 * The lines that ask which engine there is. Imports and types do not count. Code for several processes counts by its switch alone: it
 * is the same for any engine that shares a database.
 */
export function engineLines(all: readonly Source[]): string[] {
  return all
    .filter(({ path }) => !knowsNone.test(path))
    .flatMap((source) => {
      const isAsking = (node: Node) => (node.type === "Identifier" && asks.test(node["name"])) || asksOf(node);
      const code = nodes(source.program, ({ type }) => !/^(Import|TS(Interface|TypeA))/.test(type));
      return [...new Set(code.filter(isAsking).map(source.line))].map((line) => `${source.path}:${line}`);
    });
}
