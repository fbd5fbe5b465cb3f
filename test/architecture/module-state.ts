import { inTests } from "./folders.ts";
import { type Node, nameOf, type Rule, type Source, said } from "./source.ts";

/** Modules with state, each with the reason why it belongs to the process and not to a service. */
const ofProcess: Readonly<Record<string, string>> = {
  "lib/kernel/node/system.ts": "a process has one clock",
  "lib/kernel/node/event-loop.ts": "a process has one event loop",
  "lib/kernel/node/standard-error.ts": "a process has one standard error",
  "lib/http/limits/connections.ts": "the ports of a process share its descriptors",
  "lib/drivers/painter/deflate.ts": "belongs to the thread that paints",
  "lib/store/sqlite/checkpoint-worker.ts": "belongs to the thread that moves the log",
  "lib/platform/box/cgroups.ts": "numbers the control groups of a process",
  "lib/platform/runtime/temporary-folder.ts": "the folders that a process removes at its end",
  "lib/kernel/validation.ts": "is set during one synchronous call",
  "bin/svc-server.ts": "a program has one standard output",
  "lib/testing.ts": "a test file has one way to clean up",
  // What these remember follows from its key alone.
  "lib/kernel/clock.ts": "instants as text",
  "lib/http/app.ts": "a loaded module",
  "lib/kernel/node/web.ts": "loaded classes",
  "lib/store/sqlite/connection.ts": "a loaded module",
  "lib/kernel/version.ts": "a file of the package",
  "lib/store/migrate.ts": "files of the package",
  "lib/dashboard/page-files.ts": "files of the package",
  "bin/call-fields.ts": "a file of the package",
  "lib/store/transfer/copy-tables.ts": "tables of the schema",
  "lib/store/sqlite/database-files.ts": "an empty database",
  "lib/store/store.ts": "queries of a repository",
  "lib/kernel/node/child-process.ts": "descriptors that the machine gives every child",
};

const isReadonly = ({ typeAnnotation }: Node) => /^Readonly/.test(typeAnnotation?.typeAnnotation?.typeName?.name ?? "");

/** A list of a fixed length, whose places are filled again later. */
const isFilled = (value: Node | null): boolean =>
  value?.type === "CallExpression" && value["callee"]["property"]?.name === "fill";

const isEmptyCollection = (value: Node | null): boolean => {
  if (isFilled(value)) return true;
  if (value?.type === "ArrayExpression") return value["elements"].length === 0;
  if (value?.type === "ObjectExpression") return value["properties"].some((one: Node) => isEmptyMember(one));
  return (
    value?.type === "NewExpression" &&
    /^(Weak)?(Map|Set)$/.test(nameOf(value["callee"])) &&
    value["arguments"].length === 0
  );
};
/** An empty list in an object is a constant, such as a default. */
const isEmptyMember = ({ value }: Node) =>
  isFilled(value) || (value?.type === "NewExpression" && isEmptyCollection(value));

/** The state that a module keeps: variables, and collections that begin empty. */
function statesOf({ program }: Source): Node[] {
  const declared: Node[] = program["body"].map((node: Node) => node["declaration"] ?? node);
  return declared.filter(
    ({ type, kind, declarations }) =>
      type === "VariableDeclaration" &&
      (kind === "let" || declarations.some(({ id, init }: Node) => !isReadonly(id) && isEmptyCollection(init))),
  );
}

/** The page runs alone in its browser. */
const hasOneService = (source: Source) => inTests(source) || source.path.startsWith("lib/dashboard/page/");

/** Two services of a process may have equal ids: the budget of one must not count in the other. */
export const stateRule: Rule = {
  name: "no module has state that belongs to a service",
  of: (source) =>
    hasOneService(source) || source.path in ofProcess
      ? []
      : statesOf(source).map((node) =>
          said(source, source.line(node), "is state of the whole process; make it in a createX() that a service calls"),
        ),
  breaks: [
    ["lib/a.ts", "let count = 0;"],
    ["lib/a.ts", "export const waiting = new Map<string, number>();"],
    ["bin/a.ts", "const waiting: string[] = [];"],
    ["lib/a.ts", "const ofProcess = { all: new Set<string>(), taken: 0 };"],
    ["lib/a.ts", "const latest = { text: new Array<string>(9).fill('') };"],
  ],
  keeps: [
    ["lib/a.ts", "const limits = new Set(['a']); function createA() { let count = 0; }"],
    ["lib/a.ts", "const none: ReadonlySet<string> = new Set();"],
    ["lib/dashboard/page/a.ts", "let socket;"],
    ["lib/testing.ts", 'let scope = "file";'],
  ],
};

/** Exceptions that are no longer needed. */
export const statelessExceptions = (all: readonly Source[]): string[] =>
  Object.keys(ofProcess).filter((path) => !all.some((source) => source.path === path && statesOf(source).length > 0));
