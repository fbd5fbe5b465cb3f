/** The replacement of a secret value. */
export const redaction = "[redacted]" as const;

/** A regular expression tries each value at each place, so it gets at most so many, and so many characters of each. */
const most = { values: 200, characters: 64 } as const;

type Hide = (text: string) => string;
/**
 * The last functions of long values, by these. Each step of a deployment and each worker of an app asks for one, and
 * 118,000 lines took 0.5 s each time.
 */
const lastLong = new Map<string, Hide>();
const mostLong = 4;
const longText = 16 * 1024;

/** Makes a function that replaces these values in a text. Each line of a multi-line value is replaced separately. */
export function hideValues(values: readonly string[]): Hide {
  const text = values.join("\0");
  if (text.length < longText) return hiding(values);
  const hide = lastLong.get(text) ?? hiding(values);
  lastLong.delete(text);
  lastLong.set(text, hide);
  for (const oldest of lastLong.keys()) if (lastLong.size > mostLong) lastLong.delete(oldest);
  return hide;
}

function hiding(values: readonly string[]): Hide {
  const parts = [...new Set(values.flatMap((value) => value.split(/\r\n|\n|\r/)))].filter((part) => part !== "");
  if (parts.length === 0) return (text) => text;
  // Longest first: if one value contains another, nothing of the longer one may remain.
  parts.sort((a, b) => b.length - a.length);
  const pattern = parts.length > most.values ? undefined : patternOf(parts);
  if (pattern && parts.every(({ length }) => length <= most.characters))
    return (text) => text.replace(pattern, redaction);
  let longestAt: ReturnType<typeof createSearch> | undefined;
  return (text) => {
    if (pattern && text.search(pattern) < 0) return text;
    longestAt ??= createSearch(parts.toReversed());
    return replaced(text, longestAt(text));
  };
}

/** Matches the first characters of each value. */
function patternOf(parts: readonly string[]): RegExp {
  const beginnings = new Set(parts.map((part) => part.slice(0, most.characters)));
  return new RegExp([...beginnings].map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|"), "g");
}

function replaced(text: string, longestAt: (place: number) => number): string {
  let shown = "";
  let kept = 0;
  for (let at = 0; at < text.length; ) {
    const length = longestAt(at);
    if (length > 0) {
      shown += text.slice(kept, at) + redaction;
      kept = at + length;
    }
    at += length || 1;
  }
  return shown + text.slice(kept);
}

/**
 * Finds the length of the longest value at a place of a text, or 0, by a binary search over the lengths of all values:
 * a value has a mark for each of its beginnings that the search for it meets. Hashes of 53 bits stand for beginnings, so
 * neither long and repetitive values nor many of them slow the search down. The values come shortest first.
 */
function createSearch(parts: readonly string[]): (text: string) => (place: number) => number {
  const lengths = [...new Set(parts.map(({ length }) => length))];
  /** For each marked beginning, the length of the longest value that it begins with. */
  const marks = new Map<number, number>();
  const longest = (hash: Hash, place: number, end: number): number => {
    let found = 0;
    for (let low = 0, high = lengths.length; low < high; ) {
      const middle = (low + high) >> 1;
      const length = lengths[middle] as number;
      const mark = place + length > end ? undefined : marks.get(hash(place, length));
      if (mark === undefined) high = middle;
      else {
        found = mark;
        low = middle + 1;
      }
    }
    return found;
  };
  const hashes = hashesUpTo(lengths.at(-1) ?? 0);
  for (const part of parts) {
    const hash = hashes(part);
    for (let low = 0, high = lengths.length; low < high; ) {
      const middle = (low + high) >> 1;
      const length = lengths[middle] as number;
      if (length > part.length) {
        high = middle;
        continue;
      }
      const beginning = hash(0, length);
      if (!marks.has(beginning)) marks.set(beginning, length === part.length ? length : longest(hash, 0, length));
      low = middle + 1;
    }
  }
  return (text) => {
    const hash = hashes(text);
    return (place) => longest(hash, place, text.length);
  };
}

/** The hash of a part of a text. */
type Hash = (from: number, length: number) => number;

/** Reads a text once. Then the hash of a part of at most `longest` characters takes constant time. */
function hashesUpTo(longest: number): (text: string) => Hash {
  const [first, second] = [0x9e3779b1, 0x85ebca6b].map((factor) => {
    const powers = new Int32Array(longest + 1).fill(1);
    for (let i = 1; i <= longest; i++) powers[i] = Math.imul(powers[i - 1] as number, factor);
    return (text: string): Hash => {
      const beginnings = new Int32Array(text.length + 1);
      for (let i = 0, hash = 0; i < text.length; i++) {
        hash = (Math.imul(hash, factor) + text.charCodeAt(i) + 1) | 0;
        beginnings[i + 1] = hash;
      }
      return (from, length) =>
        ((beginnings[from + length] as number) - Math.imul(beginnings[from] as number, powers[length] as number)) >>> 0;
    };
  }) as [(text: string) => Hash, (text: string) => Hash];
  return (text) => {
    const [high, low] = [first(text), second(text)];
    return (from, length) => high(from, length) * 2 ** 21 + (low(from, length) >>> 11);
  };
}
