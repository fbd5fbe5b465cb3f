/** A text as one word of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A command of a shell, of a program and its arguments. */
export const shellCommand = (words: readonly string[]): string =>
  words.map((word) => (/^[\w./:=,@%+-]+$/.test(word) ? word : quoted(word))).join(" ");
