/** The cell of a character in dots, including the gap to the next one. */
export const cell = { width: 6, height: 9 } as const;

/** Capitals, digits and signs, in the order of the sheet. The last glyph replaces all other characters. */
const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?'\"-+/()&%#@*=<>[]_$\ufffd";
/** Their glyphs of five by seven dots, fifteen in a row. */
const sheet = `
.###. ####. .###. ####. ##### ##### .###. #...# .###. ..### #...# #.... #...# #...# .###.
#...# #...# #...# #...# #.... #.... #...# #...# ..#.. ...#. #..#. #.... ##.## ##..# #...#
#...# #...# #.... #...# #.... #.... #.... #...# ..#.. ...#. #.#.. #.... #.#.# ##..# #...#
##### ####. #.... #...# ####. ####. #.### ##### ..#.. ...#. ##... #.... #.#.# #.#.# #...#
#...# #...# #.... #...# #.... #.... #...# #...# ..#.. ...#. #.#.. #.... #...# #..## #...#
#...# #...# #...# #...# #.... #.... #...# #...# ..#.. #..#. #..#. #.... #...# #..## #...#
#...# ####. .###. ####. ##### #.... .###. #...# .###. .##.. #...# ##### #...# #...# .###.
####. .###. ####. .#### ##### #...# #...# #...# #...# #...# ##### .###. ..#.. .###. ####.
#...# #...# #...# #.... ..#.. #...# #...# #...# #...# #...# ....# #...# .##.. #...# ....#
#...# #...# #...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#. #..## ..#.. ....# ....#
####. #...# ####. .###. ..#.. #...# #...# #.#.# ..#.. ..#.. ..#.. #.#.# ..#.. ..##. .###.
#.... #.#.# #.#.. ....# ..#.. #...# .#.#. #.#.# .#.#. ..#.. .#... ##..# ..#.. .#... ....#
#.... #..#. #..#. ....# ..#.. #...# .#.#. ##.## #...# ..#.. #.... #...# ..#.. #.... ....#
#.... .##.# #...# ####. ..#.. .###. ..#.. #...# #...# ..#.. ##### .###. .###. ##### ####.
...#. ##### .###. ##### .###. .###. ..... ..... ..... ..... ..#.. .###. ..#.. .#.#. .....
..##. #.... #.... ....# #...# #...# ..... ..... .##.. .##.. ..#.. #...# ..#.. .#.#. .....
.#.#. ####. #.... ...#. #...# #...# ..... ..... .##.. .##.. ..#.. ....# ..... ..... .....
#..#. ....# ####. ...#. .###. .#### ..... ..... ..... ..... ..#.. ..##. ..... ..... .###.
##### ....# #...# ..#.. #...# ....# ..... .##.. .##.. .##.. ..#.. ..#.. ..... ..... .....
...#. #...# #...# ..#.. #...# ....# .##.. ..#.. .##.. ..#.. ..... ..... ..... ..... .....
...#. .###. .###. ..#.. .###. .###. .##.. .#... ..... .#... ..#.. ..#.. ..... ..... .....
..... ....# ...#. .#... .##.. ##..# .#.#. .###. ..... ..... ...#. .#... .###. .###. .....
..#.. ....# ..#.. ..#.. #..#. ##..# .#.#. #...# #.#.# ..... ..#.. ..#.. .#... ...#. .....
..#.. ...#. .#... ...#. #.#.. ...#. ##### #.### .###. ##### .#... ...#. .#... ...#. .....
##### ..#.. .#... ...#. .#... ..#.. .#.#. #.#.# ##### ..... #.... ....# .#... ...#. .....
..#.. .#... .#... ...#. #.#.# .#... ##### #.### .###. ##### .#... ...#. .#... ...#. .....
..#.. #.... ..#.. ..#.. #..#. #..## .#.#. #.... #.#.# ..... ..#.. ..#.. .#... ...#. .....
..... #.... ...#. .#... .##.# #..## .#.#. .#### ..... ..... ...#. .#... .###. .###. #####
..#.. #####
.#### #...#
#.#.. #...#
.###. #...#
..#.# #...#
####. #...#
..#.. #####
`;

const rows = sheet.trim().split("\n");
const glyphs = new Map(
  [...characters].map((character, i) => {
    const top = 7 * Math.floor(i / 15);
    const left = 6 * (i % 15);
    return [character, rows.slice(top, top + 7).map((row) => row.slice(left, left + 5))] as const;
  }),
);

/** The dot rows of a character from `linesOf`; `#` is ink. */
export const glyphOf = (character: string): readonly string[] =>
  character === " " ? [] : (glyphs.get(character) ?? glyphs.get("\ufffd") ?? []);

/**
 * Breaks a text into lines of at most `columns` characters, in capitals without accents. Text beyond `rows` lines is
 * cut and ends in two dots.
 */
export function linesOf(text: string, columns: number, rows: number): string[] {
  const lines: string[] = [];
  const plain = text.normalize("NFD").replace(/\p{M}/gu, "").toUpperCase();
  for (const word of plain.split(/\s+/u).filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && [...last].length + 1 + [...word].length <= columns) {
      lines[lines.length - 1] = `${last} ${word}`;
      continue;
    }
    const characters = [...word];
    for (let at = 0; at < characters.length; at += columns) lines.push(characters.slice(at, at + columns).join(""));
    if (lines.length > rows) break;
  }
  if (lines.length <= rows) return lines;
  const end = [...(lines[rows - 1] ?? "")].slice(0, Math.max(0, columns - 2)).join("");
  return [...lines.slice(0, Math.max(0, rows - 1)), ...(rows > 0 ? [`${end}..`] : [])];
}
