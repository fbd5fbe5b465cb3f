import { type Node, nameOf, nodes, type Source } from "./source.ts";

/** The maximum of lines outside `lib/store/` that may differ between SQLite and PostgreSQL. */
export const mostEngineLines = 59;

/**
 * Names that depend on the engine: they name an engine, a feature of one engine (`lib/store/engine.ts`), or a thing
 * made only for that engine.
 */
const asks = /[Pp]ostgres|[Ss]qlite|^(cluster|isShared|createSeveralServers|counters|noImages|hasRowLocks)$/;
/**
 * Members that depend on the engine, though their names mean other things elsewhere. The code that uses their values is
 * the same for any engine that has them.
 */
const members = /\bopened\.images$|\bengine\.foreignCommitVersion$|\btx\.newest$|\bplacement\.live$/;
const asksFor = ({ type, name }: Node) => type === "Identifier" && asks.test(name);
/** Folders that are not checked: the store itself, the tests, and code that knows no engine. */
const knowsNone = /^(lib\/(store|drivers|client|dashboard\/page)|test)\//;

/**
 * The lines that depend on the engine. Imports and types do not count. Of the code for several processes only the
 * switch counts: the rest is the same for any engine that shares a database.
 */
export function engineLines(all: readonly Source[]): string[] {
  return all
    .filter(({ path }) => !knowsNone.test(path))
    .flatMap((source) => {
      const isAsking = (node: Node) => asksFor(node) || members.test(nameOf(node));
      const code = nodes(source.program, ({ type }) => !/^(Import|TS(Interface|TypeA))/.test(type));
      return [...new Set(code.filter(isAsking).map(source.line))].map((line) => `${source.path}:${line}`);
    });
}
