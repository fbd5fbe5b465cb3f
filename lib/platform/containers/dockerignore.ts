import { matchesGlob } from "../../kernel/text/glob.ts";

interface Pattern {
  readonly parts: readonly string[];
  readonly isException: boolean;
}

const maxPatterns = 1_000;

/**
 * Whether the parts of a pattern match the parts of a path, or of a folder above it. `**` matches any number of parts.
 */
function matches(pattern: readonly string[], path: readonly string[]): boolean {
  // `open[i]`: whether the pattern so far matches the first i parts of the path.
  let open = path.map(() => false);
  open = [true, ...open];
  for (const part of pattern) {
    const next = open.map(() => false);
    for (let i = 0; i <= path.length; i++) {
      if (part === "**") next[i] = (open[i] ?? false) || (i > 0 && (next[i - 1] ?? false));
      else next[i] = i > 0 && (open[i - 1] ?? false) && matchesGlob(part, path[i - 1] ?? "");
    }
    open = next;
  }
  return open.some((is, i) => is && i > 0);
}

/** Parses a `.dockerignore`. The result tells whether a path of the repository belongs to the build context. */
export function contextFilter(text: string): (path: string) => boolean {
  const patterns = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .slice(0, maxPatterns)
    .map((line): Pattern => {
      const isException = line.startsWith("!");
      const parts = line
        .replace(/^!\s*/, "")
        .split("/")
        .filter((part) => part !== "" && part !== ".");
      return { parts, isException };
    });
  return (path) => {
    if (path === "Dockerfile" || path === ".dockerignore") return true;
    const parts = path.split("/");
    // The last matching pattern decides.
    const last = patterns.findLast((one) => matches(one.parts, parts));
    return last === undefined || last.isException;
  };
}
