export const redaction = "[redacted]" as const;

/** In the output of programs, shorter values are not looked for: `1` or `}` would hide a part of most lines. */
const usualLeast = 6;
/** Of a longer value, only this many characters are compared. */
const maxLength = 64;

/** Lines such as `-----BEGIN PRIVATE KEY-----` are no secrets. */
const isTitle = /^-{3,}[\w ]+-{3,}$/;

/** Replaces each line of the values, from `least` characters on. Many or repetitive values do not slow it down. */
export function hideValues(values: readonly string[], least = usualLeast): (text: string) => string {
  /** By the number of compared characters: the length of the longest value with that beginning. */
  const lengths = new Map<number, Map<string, number>>();
  const beginnings = new Set<string>();
  for (const value of values)
    for (const line of value.split(/\r\n|\n|\r/)) {
      const part = line.trim();
      if (part.length < least || isTitle.test(part)) continue;
      beginnings.add(part.slice(0, least));
      const beginning = part.slice(0, maxLength);
      const known = lengths.get(beginning.length) ?? new Map<string, number>();
      lengths.set(beginning.length, known.set(beginning, Math.max(part.length, known.get(beginning) ?? 0)));
    }
  if (lengths.size === 0) return (text) => text;
  // Longest first: if one value contains another, nothing of the longer one may remain.
  const sizes = [...lengths].sort(([a], [b]) => b - a);
  return (text) => {
    let shown = "";
    let kept = 0;
    for (let at = 0; at + least <= text.length; at++) {
      if (!beginnings.has(text.slice(at, at + least))) continue;
      for (const [size, known] of sizes) {
        const length = known.get(text.slice(at, at + size));
        if (length === undefined) continue;
        shown += text.slice(kept, at) + redaction;
        kept = at + length;
        at = kept - 1;
        break;
      }
    }
    return shown + text.slice(kept);
  };
}
