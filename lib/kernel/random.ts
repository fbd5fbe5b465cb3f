import { createHash, randomBytes } from "node:crypto";

const base62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** The one source of chance: the machine's own, or by seed, so that the same calls give the same bytes. */
export interface Random {
  bytes(length: number): Buffer;
  /** A number from 0 up to but not including 1. */
  fraction(): number;
  /** Text of unbiased random letters and digits. */
  letters(length: number): string;
}

export function createRandom(seed?: string): Random {
  const bytes = pooled(seed === undefined ? (length: number) => randomBytes(length) : seeded(seed));
  return {
    bytes,
    fraction: () => bytes(6).readUIntBE(0, 6) / 2 ** 48,
    letters(length) {
      let text = "";
      while (text.length < length) {
        // 248 is the largest multiple of 62 in a byte: what lies above it would favour some letters.
        for (const byte of bytes(length)) if (byte < 248 && text.length < length) text += base62[byte % 62];
      }
      return text;
    },
  };
}

/** Taken from a larger piece: asking the machine for a few bytes costs as much as asking for thousands. */
function pooled(source: (length: number) => Buffer, size = 4096): (length: number) => Buffer {
  let pool: Buffer = Buffer.alloc(0);
  return (length) => {
    if (length > size) return source(length);
    if (pool.length < length) pool = source(size);
    const taken = Buffer.from(pool.subarray(0, length));
    pool = pool.subarray(length);
    return taken;
  };
}

/** SHA-256 over seed and counter: the same seed gives the same stream on every machine. */
function seeded(seed: string): (length: number) => Buffer {
  let counter = 0;
  let pool = Buffer.alloc(0);
  return (length) => {
    while (pool.length < length) {
      pool = Buffer.concat([pool, createHash("sha256").update(`${seed}\n${counter++}`).digest()]);
    }
    const taken = pool.subarray(0, length);
    pool = pool.subarray(length);
    return taken;
  };
}
