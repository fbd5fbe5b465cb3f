import { isInRange } from "../../kernel/text/version-range.ts";
import { beginningWithin } from "../runtime/app-settings.ts";

/** A program and the versions of it that an app accepts. */
export interface Wanted {
  readonly name: "node" | "npm" | "pnpm" | "yarn" | "bun" | "python" | "go";
  /** The accepted versions, as an npm range. */
  readonly range: string;
  /** The version to fetch if none of them is present. */
  readonly fetches: string;
  readonly from: string;
}

/** The names of long-term support lines and their major versions. */
const lines: Readonly<Record<string, string>> = {
  ...{ argon: "4", boron: "6", carbon: "8", dubnium: "10", erbium: "12", fermium: "14", gallium: "16" },
  ...{ hydrogen: "18", iron: "20", jod: "22", krypton: "24" },
};

/**
 * A version manager's version as an npm range; undefined for `lts/*`, `node` and `system`, which mean any version. A
 * suffix such as in `3.13-dev`, which npm does not accept, is dropped.
 */
function rangeOf(text: string): string | undefined {
  const name = /^lts[/-](\w+)$/i.exec(text)?.[1]?.toLowerCase();
  const range = name === undefined ? text.replace(/^(v?\d+(?:\.\d+)?)-[\w.]+$/, "$1") : lines[name];
  return range !== undefined && isInRange("0.0.0", range) !== undefined ? range : undefined;
}

const firstWord = (line: string) => line.trim().split(/[\s#]/, 1)[0] || undefined;
const ofTools =
  (...names: readonly string[]) =>
  (line: string) => {
    const [tool = "", version = ""] = line.trim().split(/\s+/);
    return names.includes(tool) ? firstWord(version) : undefined;
  };

const byLine = (read: (line: string) => string | undefined) => (text: string) =>
  text.split("\n").map(read).find(Boolean);

const files = [
  [".nvmrc", byLine(firstWord)],
  [".node-version", byLine(firstWord)],
  [".tool-versions", byLine(ofTools("node", "nodejs"))],
] as const;

/** The version in the first of these files and fields that has a usable one. */
function wantedIn(name: Wanted["name"], sources: readonly (readonly [from: string, text: string | undefined])[]) {
  const ranges = sources.map(([from, text]) => ({ from, range: text && rangeOf(text) }));
  const usable = ranges.find(({ range }) => range);
  return usable?.range ? { name, range: usable.range, fetches: usable.range, from: usable.from } : undefined;
}

export const wantedNode = (root: string, engines: string | undefined): Wanted | undefined =>
  wantedIn("node", [
    ["engines of package.json", engines?.trim()],
    ...files.map(([name, read]) => [name, read(beginningWithin(root, name))] as const),
  ]);

/** Converts a range of Python, such as `>=3.9,<4` or `~=3.9`, to an npm range. It drops excluded versions. */
const rangeOfPython = (text: string) =>
  text
    .replace(/!=\s*[\w.*]+/g, "")
    .replace(/~=\s*(\d+)\.\d+\.\d+/g, (all) => `~${all.slice(2).trim()}`)
    .replace(/~=\s*/g, "^")
    .replace(/={2,3}\s*/g, "")
    .replaceAll(",", " ")
    .trim();

/** The Python version in a table of `pyproject.toml`. In other tables, the key `python` is for test environments. */
const inTable = (table: string) =>
  (/^\[tool\.poetry\.dependencies\]/.test(table)
    ? /^python\s*=\s*["']([^"']+)["']/m
    : /^requires-python\s*=\s*["']([^"']+)["']/m
  ).exec(table)?.[1];

const filesOfPython = [
  [".python-version", byLine((line) => firstWord(line)?.replace(/^(cpython|python)-?/, ""))],
  ["runtime.txt", byLine((line) => /^python-(\S+)/.exec(line.trim())?.[1])],
  [".tool-versions", byLine(ofTools("python"))],
  [
    "pyproject.toml",
    (text: string) =>
      text
        .split(/^(?=\[)/m)
        .map(inTable)
        .find(Boolean),
  ],
] as const;

export const wantedPython = (root: string): Wanted | undefined =>
  wantedIn(
    "python",
    filesOfPython.map(([from, read]) => [from, rangeOfPython(read(beginningWithin(root, from)) ?? "")]),
  );

export function wantedGo(root: string): Wanted | undefined {
  const version = /^go\s+(\d+\.\d+(?:\.\d+)?)/m.exec(beginningWithin(root, "go.mod"))?.[1];
  return version === undefined ? undefined : { name: "go", range: `>=${version}`, fetches: version, from: "go.mod" };
}
