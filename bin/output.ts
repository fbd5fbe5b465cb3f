/** Prints a line, or several. */
export const say = (text: string) => void process.stdout.write(`${text}\n`);

/** `1 user`, `2 users`: for nouns whose plural ends in s. */
export const counted = (count: number, plural: string) => `${count} ${count === 1 ? plural.replace(/s$/, "") : plural}`;

/** A clause about generations whose files are missing or changed. */
export const describeLost = (lost: readonly string[]) =>
  `${lost.length === 1 ? "the file of 1 generation is" : `the files of ${lost.length} generations are`} missing or changed, such as that of ${lost[0]}`;

/** Columns as wide as their widest cell. Control characters are replaced, so no cell can control the terminal. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map((cell) => cell.replaceAll(/\p{Cc}/gu, "\ufffd")));
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, [...cell].length)),
    [],
  );
  const padded = (cell: string, i: number) => cell + " ".repeat((widths[i] ?? 0) - [...cell].length);
  return rows.map((row) => row.map(padded).join("  ").trimEnd()).join("\n");
}
