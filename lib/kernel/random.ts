import { createHash, randomBytes } from "node:crypto";
import type { Snapshotable } from "./snapshotable.ts";

const base62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** The one source of chance: the machine's own, or by seed, so that the same calls give the same bytes. */
export interface Random extends Snapshotable {
  bytes(length: number): Buffer;
  /** A number from 0 up to but not including 1. */
  fraction(): number;
  /** Text of unbiased random letters and digits. */
  alphanumeric(length: number): string;
}

interface RandomState {
  readonly seed: string | undefined;
  readonly counter: number;
  readonly pool: Buffer;
}

export function createRandom(by?: string): Random {
  let seed = by;
  let pool: Buffer = Buffer.alloc(0);
  let counter = 0;
  const more = (length: number): Buffer =>
    seed === undefined
      ? // Asking the machine for a few bytes costs as much as asking for thousands.
        randomBytes(Math.max(length, 4096))
      : // The same seed gives the same stream on every machine.
        createHash("sha256").update(`${seed}\n${counter++}`).digest();
  const bytes = (length: number) => {
    while (pool.length < length) pool = Buffer.concat([pool, more(length)]);
    const taken = Buffer.from(pool.subarray(0, length));
    pool = pool.subarray(length);
    return taken;
  };
  return {
    bytes,
    fraction: () => bytes(6).readUIntBE(0, 6) / 2 ** 48,
    alphanumeric(length) {
      let text = "";
      while (text.length < length) {
        // 248 is the largest multiple of 62 in a byte: what lies above it would favour some letters.
        for (const byte of bytes(length)) if (byte < 248 && text.length < length) text += base62[byte % 62];
      }
      return text;
    },
    // The machine's own chance is never the same twice, in a copy neither: it is drawn anew.
    save: (): RandomState => ({ seed, counter, pool: seed === undefined ? Buffer.alloc(0) : pool }),
    load(kept) {
      ({ seed, counter, pool } = kept as RandomState);
    },
  };
}
