import type { Source } from "./source.ts";

/** The files that are loaded with a file: what it imports, directly or through others, but no types and no `import()`. */
export function loadedWith(path: string, all: readonly Source[]): ReadonlySet<string> {
  const files = new Map(all.map((source) => [source.path, source]));
  const found = new Set<string>();
  const visit = (one: string) => {
    if (found.has(one)) return;
    found.add(one);
    for (const { of, isType, isLate } of files.get(one)?.imports ?? [])
      if (!isType && !isLate && files.has(of)) visit(of);
  };
  visit(path);
  return found;
}
