/**
 * Whether a whole text is as a pattern says: `*` stands for any characters, `/` included, or none, `?` for one, and
 * everything else for itself. It looks at each pair of pattern and text a bounded number of times, so no pattern is slow.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  const wanted = [...pattern];
  const given = [...text];
  let at = 0;
  /** Where to go on from, with one character more for the last `*`. */
  let star = -1;
  let taken = 0;
  for (let i = 0; i < given.length; ) {
    if (wanted[at] === "*") {
      star = at++;
      taken = i;
    } else if (at < wanted.length && (wanted[at] === "?" || wanted[at] === given[i])) {
      at++;
      i++;
    } else if (star >= 0) {
      at = star + 1;
      i = ++taken;
    } else return false;
  }
  while (wanted[at] === "*") at++;
  return at === wanted.length;
}
