import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import type { Snapshotable } from "./snapshotable.ts";

/** The prefixes of the specification. */
type SpecifiedPrefix = "proj" | "dep" | "usr" | "inv" | "int" | "wh" | "gen" | "req" | "key" | "org" | "evt" | "dlv";
/** Every identifier prefix. The 26 characters of a ULID follow, so identifiers sort by creation. */
export type Prefix = SpecifiedPrefix | "job" | "mail" | "run" | "aud" | "scn";

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The creation time in milliseconds, from the start of the identifier. */
export const createdAtOf = (id: string): number =>
  [...id.slice(id.indexOf("_") + 1).slice(0, 10)].reduce((sum, digit) => sum * 32 + crockford.indexOf(digit), 0);

/** A lower bound: every identifier created from that instant on is greater. */
export const lowestId = (prefix: Prefix, at: number): string => `${prefix}_${timeOf(at)}`;

const timeOf = (at: number): string => {
  let text = "";
  for (let i = 0, rest = Math.max(0, at); i < 10; i++, rest = Math.floor(rest / 32)) text = crockford[rest % 32] + text;
  return text;
};

export interface Ids extends Snapshotable {
  /** A new identifier, greater than all earlier ones of this generator. */
  next(prefix: Prefix): string;
  /** Makes the next identifiers greater than this one, which another process created. */
  follow(id: string): void;
}

/** Monotonic ULIDs, even when the system time steps back. `after` is the greatest one of an earlier process. */
export function createIds(clock: Clock, random: Random, after?: string): Ids {
  let last = -1;
  let tail = new Uint8Array(16);
  const set = (at: number, digits: Iterable<number>) => {
    last = at;
    tail = Uint8Array.from(digits);
  };
  const written = () => {
    let text = timeOf(last);
    for (const digit of tail) text += crockford[digit];
    return text;
  };
  // The highest bit of the first digit stays free, so that counting up never overflows within a millisecond.
  const renew = (now: number) =>
    set(
      now,
      random.bytes(16).map((byte, i) => (i === 0 ? byte & 15 : byte & 31)),
    );
  const count = (place = 15) => {
    for (let i = place; i >= 0; i--) {
      if (tail[i] !== 31) {
        tail[i] = (tail[i] ?? 0) + 1;
        return;
      }
      tail[i] = 0;
    }
  };
  /** Continues at a random place above `id`: two processes that count up from it would create equal identifiers. */
  const follow = (id: string) => {
    const digits = [...id.slice(id.indexOf("_") + 1)].map((digit) => crockford.indexOf(digit));
    const below = random.bytes(7).map((byte) => byte & 31);
    set(createdAtOf(id), [...Array.from({ length: 9 }, (_, i) => digits[10 + i] ?? 0), ...below]);
    count(8);
  };
  if (after !== undefined) follow(after);
  return {
    next(prefix) {
      const now = clock.now();
      if (now > last) renew(now);
      else count();
      return `${prefix}_${written()}`;
    },
    follow(id) {
      if (last < 0 || id.slice(id.indexOf("_") + 1) > written()) follow(id);
    },
    save: () => ({ last, tail: [...tail] }),
    load(saved) {
      const { last: at, tail: digits } = saved as { last: number; tail: number[] };
      set(at, digits);
    },
  };
}
