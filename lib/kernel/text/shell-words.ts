/** Quotes a text as one shell word. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The shell command for a program and its arguments. */
export const shellCommand = (words: readonly string[]): string =>
  words.map((word) => (/^[\w./:=,@%+-]+$/.test(word) ? word : quoted(word))).join(" ");
