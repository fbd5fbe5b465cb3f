/** Durations as people write them: `"150ms"`, `"30s"`, `"2m"`, `"2h"`, `"7d"`, or several in a row (`"2h42m30s"`). */
const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const part = /(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)/y;

/** Milliseconds of a duration; undefined for any other value. */
export function parseDuration(text: unknown): number | undefined {
  let total = 0;
  part.lastIndex = 0;
  if (typeof text !== "string" || text.length === 0 || text.length > 64) return undefined;
  while (part.lastIndex < text.length) {
    const match = part.exec(text);
    if (!match) return undefined;
    total += Number(match[1]) * units[match[2] as keyof typeof units];
  }
  return Number.isSafeInteger(Math.round(total)) ? Math.round(total) : undefined;
}

/** A duration as callers of the library may write it: a text, or a number of milliseconds. */
export type Duration = string | number;

/** Milliseconds of a duration that may be a number. Throws a TypeError for any other value. */
export function durationOf(given: unknown): number {
  if (typeof given === "number" && Number.isSafeInteger(Math.round(given)) && given >= 0) return Math.round(given);
  return milliseconds(given);
}

/** Milliseconds of a duration. Throws a TypeError for any other value. */
export function milliseconds(text: unknown): number {
  const isText = typeof text === "string";
  const value = isText ? parseDuration(text) : undefined;
  if (value === undefined)
    throw new TypeError(`${isText ? `"${text}"` : String(text)} is not a duration such as "30s" or "2h42m30s"`);
  return value;
}

/** The shortest text of a duration: 9750000 is `"2h42m30s"`. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.round(ms));
  let text = "";
  for (const [unit, size] of Object.entries(units).reverse()) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text || "0s";
}
