/** Stored in the `*_folded` columns, because the engines fold differently. Three steps make ß, ẞ and SS equal. */
export const foldCase = (text: string): string =>
  text.normalize("NFC").toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
