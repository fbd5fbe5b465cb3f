import { existsSync, readFileSync } from "node:fs";
import { splits } from "./folders.ts";
import { type Node, nodes, type Source } from "./source.ts";

/** A pattern of `.knip.json` as a regular expression: `test/**\/*.test.ts`, `test/bench/{a,b}.ts`. */
const expressionOf = (pattern: string) =>
  new RegExp(
    `^${pattern
      .replaceAll(".", "\\.")
      .replaceAll(/\{([^}]*)\}/g, (_, names: string) => `(${names.replaceAll(",", "|")})`)
      .replaceAll("**/", "(.+/)?")
      .replaceAll(/(?<![)+])\*/g, "[^/]*")}$`,
  );

/** Files that programs start or tools read, so that no file needs to import them. */
const started = (): readonly string[] => [
  ...JSON.parse(readFileSync(".knip.json", "utf8")).entry,
  "bin/svc-server.ts",
  "test/crash/*.ts",
  "test/{simulation/simulate,history/histories}.ts",
];

/** The files that nothing imports and nothing starts. */
export function unused(all: readonly Source[], patterns = started()): string[] {
  const imported = new Set(all.flatMap(({ imports }) => imports.map(({ of }) => of)));
  const expressions = patterns.map(expressionOf);
  return all
    .map(({ path }) => path)
    .filter((path) => !path.endsWith(".d.ts") && !imported.has(path) && !expressions.some((one) => one.test(path)))
    .map((path) => `${path} is imported by no file; import it, or delete it`);
}

/** The file names in the lists of the rules, which are keys of objects. */
const listed = (all: readonly Source[]): string[] => [
  ...Object.keys(splits).map((name) => `lib/features/${name}.ts`),
  ...all
    .filter(({ path }) => path.startsWith("test/architecture/"))
    .flatMap(({ program }) => nodes(program))
    .filter(({ type, key }: Node) => type === "Property" && key?.type === "Literal")
    .map(({ key }) => String(key.value).split(" ", 1)[0] ?? "")
    .filter((name) => /^(lib|bin|test)\/[\w./-]+\.(tsx?|mjs)$/.test(name)),
  ...started().flatMap((pattern) => {
    const [, before = "", names = "", after = ""] = /^([^*{]*)\{([^*{}]*)\}([^*{]*)$/.exec(pattern) ?? [];
    return names === ""
      ? pattern.includes("*")
        ? []
        : [pattern]
      : names.split(",").map((one) => before + one + after);
  }),
];

/** Files that the lists of the rules name but that no longer exist. */
export const gone = (all: readonly Source[], exists = existsSync): string[] =>
  [...new Set(listed(all))]
    .filter((path) => !exists(path))
    .map((path) => `${path} is gone; take it off the list in test/architecture/ or .knip.json`);
