import type { Source } from "./source.ts";

/** The files that import each other, directly or through others, one sentence for each cycle. Type imports count. */
export function cycles(all: readonly Source[]): string[] {
  const files = new Map(all.map((source) => [source.path, source]));
  const imported = ({ path, imports }: Source): Source[] =>
    imports.flatMap(({ of }) => (of === path ? [] : (files.get(of) ?? [])));
  const reachable = new Map(all.map((source) => [source.path, reach(source, imported)]));
  const reported = new Set<string>();
  return all.flatMap(({ path }) => {
    if (reported.has(path) || !reachable.get(path)?.has(path)) return [];
    const members = [...(reachable.get(path) ?? [])].filter((other) => reachable.get(other)?.has(path)).sort();
    for (const member of members) reported.add(member);
    return [`${members.join(", ")} form a cycle; move what they share into a file that imports none of them`];
  });
}

/** The paths of all files that `source` imports, directly or through others; includes its own path only in a cycle. */
function reach(source: Source, imported: (of: Source) => Source[]): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (from: Source) => {
    for (const to of imported(from)) {
      if (found.has(to.path)) continue;
      found.add(to.path);
      visit(to);
    }
  };
  visit(source);
  return found;
}
