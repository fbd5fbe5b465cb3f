import { createHash, randomBytes } from "node:crypto";
import type { Snapshotable } from "./snapshotable.ts";

const base62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** The randomness of a service, from the system or from a seed. With a seed, the same calls give the same bytes. */
export interface Random extends Snapshotable {
  bytes(length: number): Buffer;
  /** A number from 0 up to but not including 1. */
  fraction(): number;
  /** Uniformly random letters and digits. */
  alphanumeric(length: number): string;
}

interface RandomState {
  readonly seed: string | undefined;
  readonly counter: number;
  readonly pool: Buffer;
}

export function createRandom(initialSeed?: string): Random {
  let seed = initialSeed;
  let pool: Buffer = Buffer.alloc(0);
  let counter = 0;
  const more = (length: number): Buffer =>
    seed === undefined
      ? // One call for thousands of bytes takes as long as one for a few.
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
        // 248 is the largest multiple of 62 that fits a byte; greater values would favour some letters.
        for (const byte of bytes(length)) if (byte < 248 && text.length < length) text += base62[byte % 62];
      }
      return text;
    },
    // A copy must not repeat system randomness, so its pool is not saved.
    save: (): RandomState => ({ seed, counter, pool: seed === undefined ? Buffer.alloc(0) : pool }),
    load(saved) {
      ({ seed, counter, pool } = saved as RandomState);
    },
  };
}
