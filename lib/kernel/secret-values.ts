/** The replacement of a secret value. */
export const redaction = "[redacted]" as const;

/** Makes a function that replaces these values in a text. Each line of a multi-line value is replaced separately. */
export function hideValues(values: readonly string[]): (text: string) => string {
  const parts = [...new Set(values.flatMap((value) => value.split(/\r\n|\n|\r/)))].filter((part) => part !== "");
  if (parts.length === 0) return (text) => text;
  // Longest first: if one value contains another, nothing of the longer one may remain.
  parts.sort((a, b) => b.length - a.length);
  const pattern = new RegExp(parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"), "g");
  return (text) => text.replace(pattern, redaction);
}
