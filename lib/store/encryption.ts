import { createCipheriv, createDecipheriv, createHash, createHmac } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { DatabaseError } from "./database-error.ts";

/** Encrypts what must not lie readable in the database. `place` binds a value to its table, row and column. */
export interface Encryption {
  encrypt(place: string, plain: string): string;
  decrypt(place: string, sealed: string): string;
  /** A signature that only this key can make, of a text for one purpose. */
  sign(purpose: string, text: string): string;
  /** Tells one key from another without revealing it. */
  readonly fingerprint: string;
  /** The same key, with chance from elsewhere. */
  withRandom(bytes: (length: number) => Buffer): Encryption;
}

export const fingerprintOf = (key: Buffer): string =>
  createHash("sha256").update("svc-server vault\n").update(key).digest("hex").slice(0, 16);

export const wrongKey = (database: string, key = `${database}.key`) =>
  new DatabaseError(
    database,
    `its secrets were encrypted with another key; restore the key file ${key} that belongs to it`,
  );

export function createEncryption(key: Buffer, bytes: (length: number) => Buffer): Encryption {
  return {
    sign: (purpose, text) => createHmac("sha256", key).update(`${purpose}\n${text}`).digest("base64url"),
    fingerprint: fingerprintOf(key),
    withRandom: (others) => createEncryption(key, others),
    encrypt(place, plain) {
      const nonce = bytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64");
    },
    decrypt(place, sealed) {
      const all = Buffer.from(sealed, "base64");
      const decipher = createDecipheriv("aes-256-gcm", key, all.subarray(0, 12)).setAAD(Buffer.from(place));
      decipher.setAuthTag(all.subarray(12, 28));
      return Buffer.concat([decipher.update(all.subarray(28)), decipher.final()]).toString("utf8");
    },
  };
}

/** The key file beside a database: 32 bytes in base64, readable by its owner alone. Made where it is missing. */
export function readOrCreateKey(path: string, bytes: (length: number) => Buffer): Buffer {
  if (!existsSync(path)) writeAtomically(path, `${bytes(32).toString("base64")}\n`);
  return readKey(path);
}

export function readKey(path: string): Buffer {
  const key = Buffer.from(readFileSync(path, "utf8").trim(), "base64");
  if (key.length !== 32) throw new Error("it does not hold 32 bytes in base64; restore it from a backup");
  return key;
}

/** A kill on the way leaves the whole file or none. */
function writeAtomically(path: string, text: string): void {
  const half = `${path}.new`;
  rmSync(half, { force: true });
  const fd = openSync(half, "wx", 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(half, path);
}
