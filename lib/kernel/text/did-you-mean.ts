/** The edit distance: letters to change, insert, delete or swap with the next one (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
        j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The most similar name: up to half of its letters may differ, fewer in long names. Skips names of two letters. */
export function nearestName(wrong: string, names: readonly string[]): string | undefined {
  const [best] = names
    .filter((name) => name.length > 2)
    .map((name) => ({ name, edits: distance(wrong, name) }))
    .filter(({ name, edits }) => edits <= Math.max(2, Math.floor(name.length / 4)) && edits < name.length / 2)
    .sort((a, b) => a.edits - b.edits);
  return best?.name;
}

/** `; did you mean …?` for the end of an error message, or an empty text. */
export function didYouMean(wrong: string, names: readonly string[], before = ""): string {
  const name = nearestName(wrong, names);
  return name === undefined ? "" : `; did you mean ${before}${name}?`;
}
