/**
 * Unicode case folding, for names and addresses that must be unique regardless of case. The result is stored in the
 * `*_folded` columns, because the engines fold differently (SQLite: ASCII only). Folding to lower, upper and lower case
 * again makes ß, ẞ and SS equal; a single step does not.
 */
export const foldCase = (text: string): string =>
  text.normalize("NFC").toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
