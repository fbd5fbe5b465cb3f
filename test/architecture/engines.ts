import { type Node, nameOf, nodes, type Source } from "./source.ts";

/** How many lines outside of `lib/store/` may differ between SQLite and PostgreSQL. */
export const mostEngineLines = 111;

/**
 * Names that ask which engine there is: they name one, or what one of them alone has (`lib/store/engine.ts`), or what is made
 * for that one alone.
 */
const asks = /[Pp]ostgres|[Ss]qlite|^(cluster|isShared|sharing|counters|noImages|hasRowLocks|lockLimit)$/;
/** The same of members whose names mean other things elsewhere. What comes of them is the same for any engine that has them. */
const members = /\bopened\.images$|\bengine\.foreignCommitVersion$|\btx\.newest$/;
/** In `lib/apps/`, the servers beside this one: undefined where there is one server. */
const asksIn = (path: string, { type, name }: Node) =>
  type === "Identifier" && (asks.test(name) || (name === "others" && path.startsWith("lib/apps/")));
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
      const isAsking = (node: Node) => asksIn(source.path, node) || members.test(nameOf(node));
      const code = nodes(source.program, ({ type }) => !/^(Import|TS(Interface|TypeA))/.test(type));
      return [...new Set(code.filter(isAsking).map(source.line))].map((line) => `${source.path}:${line}`);
    });
}
