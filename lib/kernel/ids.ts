import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

/** Every prefix of the interface. CONTRACT section 1: "prefix + 26-character ULID, so that they sort by creation". */
export type Prefix =
  | "proj"
  | "dep"
  | "usr"
  | "inv"
  | "int"
  | "wh"
  | "gen"
  | "req"
  | "key"
  | "org"
  | "evt"
  | "dlv"
  | "job"
  | "mail";

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** When a record was made, in milliseconds: an identifier begins with it. */
export const madeAt = (id: string): number =>
  [...id.slice(id.indexOf("_") + 1).slice(0, 10)].reduce((sum, digit) => sum * 32 + crockford.indexOf(digit), 0);

export interface Ids {
  /** A new identifier, greater than every one that this generator gave before. */
  next(prefix: Prefix): string;
}

/**
 * ULIDs that grow within a millisecond, and go on growing when the machine's time steps back. `after` is the greatest
 * one that was given before, by an earlier process too.
 */
export function createIds(clock: Clock, random: Random, after?: string): Ids {
  const digits = [...(after?.slice(after.indexOf("_") + 1) ?? "")].map((digit) => crockford.indexOf(digit));
  let time = digits
    .slice(0, 10)
    .map((digit) => crockford[digit])
    .join("");
  let last = after === undefined ? -1 : digits.slice(0, 10).reduce((sum, digit) => sum * 32 + digit, 0);
  const tail = Uint8Array.from(after === undefined ? new Array(16).fill(0) : digits.slice(10));
  const renew = (now: number) => {
    last = now;
    time = "";
    for (let i = 0, rest = now; i < 10; i++, rest = Math.floor(rest / 32)) time = crockford[rest % 32] + time;
    random.bytes(16).forEach((byte, i) => {
      // The first digit keeps its highest bit free, so that counting up never runs out within a millisecond.
      tail[i] = i === 0 ? byte & 15 : byte & 31;
    });
  };
  const count = () => {
    for (let i = 15; i >= 0; i--) {
      if (tail[i] !== 31) {
        tail[i] = (tail[i] ?? 0) + 1;
        return;
      }
      tail[i] = 0;
    }
  };
  return {
    next(prefix) {
      const now = clock.now();
      if (now > last) renew(now);
      else count();
      let text = `${prefix}_${time}`;
      for (const digit of tail) text += crockford[digit];
      return text;
    },
  };
}
