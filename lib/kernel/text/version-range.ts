/** A comparison such as `>=18.2.0`. */
interface Comparator {
  readonly is: ">=" | "<" | ">" | "<=";
  readonly than: readonly number[];
}

const part = "(\\d{1,9}|[xX*])";
const partial = new RegExp(`^([<>]=?|=|\\^|~>?|)v?${part}(?:\\.${part})?(?:\\.${part})?(?:[-+][0-9A-Za-z.+-]*)?$`);

/** The numbers of a version, up to the first missing one. */
function numbersOf(parts: readonly (string | undefined)[]): number[] {
  const open = parts.findIndex((one) => one === undefined || /[xX*]/.test(one));
  return parts.slice(0, open < 0 ? parts.length : open).map(Number);
}

const filled = (numbers: readonly number[]) => [...numbers, 0, 0, 0].slice(0, 3);
/** The first version after all versions that begin with these numbers. */
const beyond = (numbers: readonly number[]) => filled([...numbers.slice(0, -1), (numbers.at(-1) ?? 0) + 1]);

function comparatorsOf(word: string): Comparator[] | undefined {
  const [, sign = "", ...parts] = partial.exec(word) ?? [];
  if (parts.length === 0) return undefined;
  const numbers = numbersOf(parts);
  if (numbers.length === 0) return [];
  const from: Comparator = { is: ">=", than: filled(numbers) };
  if (sign === ">=") return [from];
  if (sign === "<") return [{ is: "<", than: filled(numbers) }];
  if (sign === ">") return numbers.length === 3 ? [{ is: ">", than: numbers }] : [{ is: ">=", than: beyond(numbers) }];
  if (sign === "<=") return numbers.length === 3 ? [{ is: "<=", than: numbers }] : [{ is: "<", than: beyond(numbers) }];
  const leading = numbers.findIndex((one) => one > 0);
  if (sign === "^") return [from, { is: "<", than: beyond(numbers.slice(0, leading < 0 ? 3 : leading + 1)) }];
  if (sign.startsWith("~")) return [from, { is: "<", than: beyond(numbers.slice(0, 2)) }];
  return [from, { is: "<", than: beyond(numbers) }];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((one, i) => one !== b[i]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

const holds = (version: readonly number[], { is, than }: Comparator) => {
  const sign = compare(version, than);
  if (is === ">=") return sign >= 0;
  if (is === "<") return sign < 0;
  return is === ">" ? sign > 0 : sign <= 0;
};

/** Whether a version satisfies an npm range such as `^20.10 || >=22`; undefined if the range is invalid. */
export function isInRange(version: string, range: string): boolean | undefined {
  const numbers = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})/.exec(version)?.slice(1).map(Number);
  if (!numbers || range.length > 255) return undefined;
  const all = range.split("||").map((alternative) =>
    alternative
      .trim()
      .replace(/^(\S+)\s+-\s+(\S+)$/, ">=$1 <=$2")
      .replace(/(^|\s)([<>]=?|=|\^|~>?)\s+/g, "$1$2")
      .split(/\s+/)
      .filter((word) => word !== "")
      .map(comparatorsOf),
  );
  if (all.some((alternative) => alternative.includes(undefined))) return undefined;
  return all.some((alternative) => alternative.every((list) => list?.every((one) => holds(numbers, one))));
}
