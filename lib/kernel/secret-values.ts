/** The replacement of a secret value. */
export const redaction = "[redacted]" as const;

/** A function that replaces these values in a text; of a value of several lines, each line. */
export function hideValues(values: readonly string[]): (text: string) => string {
  const parts = [...new Set(values.flatMap((value) => value.split(/\r\n|\n|\r/)))].filter((part) => part !== "");
  if (parts.length === 0) return (text) => text;
  // The longest first, so that a value that contains another one leaves no rest.
  parts.sort((a, b) => b.length - a.length);
  const pattern = new RegExp(parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"), "g");
  return (text) => text.replace(pattern, redaction);
}
