import { isInRange } from "../../kernel/version-range.ts";
import { readWithin } from "../runtime/app-settings.ts";

/** A program in the versions that an app can do with. */
export interface Wanted {
  readonly name: "node" | "npm" | "pnpm" | "yarn" | "bun";
  /** The versions that serve, in npm's form. */
  readonly range: string;
  /** The one to fetch, where none of them is there. */
  readonly fetches: string;
  /** What asks for it. */
  readonly from: string;
}

/** The names of lines with long-term support, and their numbers. */
const lines: Readonly<Record<string, string>> = {
  ...{ argon: "4", boron: "6", carbon: "8", dubnium: "10", erbium: "12", fermium: "14", gallium: "16" },
  ...{ hydrogen: "18", iron: "20", jod: "22", krypton: "24" },
};

/** A version as version managers write it, in npm's form; `lts/*`, `node` and `system` leave it to the machine. */
function rangeOf(text: string): string | undefined {
  const name = /^lts[/-](\w+)$/i.exec(text)?.[1]?.toLowerCase();
  const range = name === undefined ? text : lines[name];
  return range !== undefined && isInRange("0.0.0", range) !== undefined ? range : undefined;
}

const firstWord = (line: string) => line.trim().split(/[\s#]/, 1)[0] || undefined;
const ofTools = (line: string) => {
  const [tool, version] = line.trim().split(/\s/).filter(Boolean);
  return tool === "node" || tool === "nodejs" ? firstWord(version ?? "") : undefined;
};

/** Each file that names a version of Node, and how it is read from a line. */
const files = [
  [".nvmrc", firstWord],
  [".node-version", firstWord],
  [".tool-versions", ofTools],
] as const;

const versionIn = (text: string, read: (line: string) => string | undefined) =>
  text.split("\n").map(read).find(Boolean);

/** The Node that an app asks for: the first of these that says something of it decides. */
export function wantedNode(root: string, engines: string | undefined): Wanted | undefined {
  const given = [
    ["engines of package.json", engines?.trim()] as const,
    ...files.map(([name, read]) => [name, versionIn(readWithin(root, name) ?? "", read)] as const),
  ];
  for (const [from, text] of given) {
    const range = text && rangeOf(text);
    if (range) return { name: "node", range, fetches: range, from };
  }
  return undefined;
}
