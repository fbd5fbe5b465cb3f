/** `*` matches any characters, `?` one. The running time is at most the product of both lengths. */
export function matchesGlob(pattern: string, text: string): boolean {
  const wanted = [...pattern];
  const given = [...text];
  let at = 0;
  /** The last `*`. After a mismatch, it takes one more character and matching resumes. */
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
