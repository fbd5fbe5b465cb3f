/**
 * Text without regard to case, in all of Unicode, for names and addresses that must be unique. Written into `*_folded`
 * columns, because the engines' own folding differs (SQLite knows ASCII only). Down, up and down again unites what a
 * single step leaves apart, such as ß, ẞ and SS.
 */
export const foldCase = (text: string): string =>
  text.normalize("NFC").toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
