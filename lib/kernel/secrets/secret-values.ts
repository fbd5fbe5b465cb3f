/** The replacement of a secret value. */
export const redaction = "[redacted]" as const;

/** In the output of programs, shorter values and lines are not looked for: `1` or `}` would hide a part of most lines. */
const usualMinimum = 6;
/** A longer value is found by its beginning of so many characters, so neither many nor long values slow the search. */
const maxSearched = 64;

/** Lines such as `-----BEGIN PRIVATE KEY-----` say what follows. */
const isTitle = /^-{3,}[\w ]+-{3,}$/;

const searchedOf = (line: string) => line.slice(0, maxSearched);
const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/**
 * Makes a function that replaces these values in a text. Each line of a value is replaced separately. `minimum` is the
 * length of the shortest line to look for.
 */
export function hideValues(values: readonly string[], minimum = usualMinimum): (text: string) => string {
  const lines = values.flatMap((value) => value.split(/\r\n|\n|\r/)).map((line) => line.trim());
  // Longest first: if one line contains another, nothing of the longer one may remain.
  const hidden = lines
    .filter((line) => line.length >= minimum && !isTitle.test(line))
    .sort((a, b) => b.length - a.length);
  if (hidden.length === 0) return (text) => text;
  const pattern = new RegExp([...new Set(hidden.map(searchedOf))].map(escaped).join("|"), "g");
  return (text) => {
    let shown = "";
    let kept = 0;
    for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
      shown += text.slice(kept, found.index) + redaction;
      kept = found.index + (hidden.find((line) => searchedOf(line) === found?.[0])?.length ?? 0);
      pattern.lastIndex = kept;
    }
    return shown + text.slice(kept);
  };
}
