/**
 * Unicode case folding, for names and addresses that must be unique regardless of case. The result goes into the
 * `*_folded` columns, because the engines fold differently (SQLite: ASCII only). Lower, upper and lower case again also
 * unites ß, ẞ and SS, which one step keeps apart.
 */
export const foldCase = (text: string): string =>
  text.normalize("NFC").toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
