import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { type ParseResult, parseSync } from "oxc-parser";

/** Any node of a syntax tree. Rules look for only a few of its many forms. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  // biome-ignore lint/suspicious/noExplicitAny: the parts of a node depend on its type, and a rule asks for few of them
  readonly [part: string]: any;
}

/** One import in any form: static, re-export, `import()`, or a type such as `import("…").T`. */
export interface Import {
  /** For a file of this project, a path such as `lib/kernel/api.ts`; for a package, its name as written. */
  readonly of: string;
  readonly ours: boolean;
  /** Whether the import is erased at compile time. */
  readonly isType: boolean;
  /** Whether it is an `import()`, which loads the file later or never. */
  readonly isLate?: boolean;
  /** The imported names: none for a side effect, `*` for all. */
  readonly names: readonly string[];
  readonly reexports: boolean;
  readonly line: number;
}

/** One file, parsed once for all rules. */
export interface Source {
  /** Relative to the root of the project: `lib/kernel/api.ts`. */
  readonly path: string;
  readonly text: string;
  readonly program: Node;
  readonly imports: readonly Import[];
  line(of: { start: number }): number;
}

export function parse(path: string, text: string): Source {
  const { program, module, errors } = parseSync(path, text);
  if (errors[0]) throw new Error(`${path} cannot be parsed: ${errors[0].message}`);
  const starts = [...text.matchAll(/\n/g)].map(({ index }) => index);
  const line = ({ start }: { start: number }) => starts.filter((at) => at < start).length + 1;
  const root = program as unknown as Node;
  return { path, text, program: root, line, imports: importsOf(path, root, module, line) };
}

function importsOf(path: string, program: Node, module: ParseResult["module"], line: Source["line"]): Import[] {
  const at = (request: string, more: Omit<Import, "of" | "ours">): Import => {
    const ours = request.startsWith(".");
    return { of: ours ? join(dirname(path), request) : request, ours, ...more };
  };
  const known = module.staticImports.map(({ moduleRequest, entries, start }) =>
    at(moduleRequest.value, {
      isType: entries.length > 0 && entries.every(({ isType }) => isType),
      names: entries.filter(({ isType }) => !isType).map(({ importName }) => importName.name ?? "*"),
      reexports: false,
      line: line({ start }),
    }),
  );
  for (const { entries, start } of module.staticExports) {
    for (const { moduleRequest, isType, importName } of entries) {
      const names = isType ? [] : [importName.name ?? "*"];
      if (moduleRequest) known.push(at(moduleRequest.value, { isType, names, reexports: true, line: line({ start }) }));
    }
  }
  for (const node of nodes(program)) {
    const type = node.type === "TSImportType";
    if ((type || node.type === "ImportExpression") && typeof node["source"].value === "string") {
      known.push(
        at(node["source"].value, { isType: type, isLate: !type, names: ["*"], reexports: false, line: line(node) }),
      );
    }
  }
  return known;
}

/** The nodes of whole files, cached because most rules visit all of them. */
const known = new WeakMap<Node, readonly Node[]>();

/** The node and all its descendants, in order. If `into` returns false for a node, its descendants are left out. */
export function nodes(node: Node, into?: (node: Node) => boolean): readonly Node[] {
  const isFile = node.type === "Program" && !into;
  const found = isFile ? known.get(node) : undefined;
  if (found) return found;
  const all: Node[] = [];
  collect(node, into, all);
  if (isFile) known.set(node, all);
  return all;
}

function collect(node: Node, into: ((node: Node) => boolean) | undefined, all: Node[]): void {
  all.push(node);
  if (into && !into(node)) return;
  for (const name in node) {
    const part = node[name];
    if (Array.isArray(part)) {
      for (const child of part) if (typeof child?.type === "string") collect(child, into, all);
    } else if (typeof part?.type === "string") collect(part, into, all);
  }
}

export const isFunction = ({ type }: Node) =>
  type === "FunctionDeclaration" || type === "FunctionExpression" || type === "ArrowFunctionExpression";

/** `Date.now` for `Date.now()`, `fetch` for `fetch(…)`; empty for anything but a plain name. */
export function nameOf(node: Node): string {
  if (node.type === "Identifier") return node["name"];
  if (node.type !== "MemberExpression" || node["computed"]) return "";
  const object = nameOf(node["object"]).replace(/^globalThis\./, "");
  const whole = object === "" ? "" : `${object}.${node["property"].name}`;
  return whole.replace(/^globalThis\./, "");
}

/** The files of the page and of `.scripts`, to which some rules apply too. */
export const besides = (): Source[] =>
  ["lib/dashboard/page", ".scripts"].flatMap((folder) =>
    (readdirSync(folder, { recursive: true }) as string[])
      .filter((name) => /\.(tsx?|mjs)$/.test(name))
      .sort()
      .map((name) => parse(`${folder}/${name}`, readFileSync(`${folder}/${name}`, "utf8"))),
  );

/** Every TypeScript file in the given folders, parsed. */
export function sources(...folders: string[]): Source[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .map((name) => join(folder, String(name).replaceAll("\\", "/")))
      // The page runs in browsers and has its own rules: test/architecture/page.test.ts.
      .filter((path) => path.endsWith(".ts") && !path.startsWith("lib/dashboard/page/"))
      .sort()
      .map((path) => parse(path, readFileSync(path, "utf8").replaceAll("\r\n", "\n"))),
  );
}

/**
 * A line of "Never": finds mistakes in one file, each as a sentence. `breaks` are examples with mistakes, `keeps` are
 * examples without.
 */
export interface Rule {
  readonly name: string;
  readonly of: (source: Source) => string[];
  readonly breaks: readonly Sample[];
  readonly keeps?: readonly Sample[];
}
export type Sample = readonly [path: string, text: string];

/** `lib/a.ts:12 does this; that would be right`. */
export const said = (source: Source, line: number, sentence: string) => `${source.path}:${line} ${sentence}`;
