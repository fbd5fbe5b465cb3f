/** How many letters have to be changed, put in or left out to make one word of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The known name that is nearest to a wrong one, where one is near; a single letter is near to nothing. */
export function nearestName(wrong: string, names: readonly string[]): string | undefined {
  const [best] = names
    .filter((name) => name.length > 2)
    .map((name) => ({ name, far: distance(wrong, name) }))
    .filter(({ name, far }) => far <= Math.max(2, Math.floor(name.length / 4)))
    .sort((a, b) => a.far - b.far);
  return best?.name;
}

/** The end of a sentence about a wrong name. */
export function didYouMean(wrong: string, names: readonly string[], before = ""): string {
  const near = nearestName(wrong, names);
  return near === undefined ? "" : `; did you mean ${before}${near}?`;
}
