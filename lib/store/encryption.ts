import { createCipheriv, createDecipheriv, createHash, createHmac } from "node:crypto";
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { readText } from "../kernel/text/paths.ts";
import { DatabaseError } from "./database-error.ts";
import { syncFolder } from "./sync-folder.ts";

/**
 * Encrypts secrets for the database with AES-256-GCM. `context` is authenticated data that names table, row and column,
 * so a ciphertext moved to another row does not decrypt.
 */
export interface Encryption {
  encrypt(context: string, plaintext: string): string;
  /** Throws if the value was encrypted with another key or another context. */
  decrypt(context: string, ciphertext: string): string;
  /** HMAC-SHA256 of `text` in base64url. A signature is valid for its purpose only. */
  sign(purpose: string, text: string): string;
  /** Identifies the key without revealing it. */
  readonly fingerprint: string;
  /** The same key with another source of nonces. */
  withRandom(random: (length: number) => Buffer): Encryption;
}

const nonceLength = 12;
const tagLength = 16;

export const fingerprintOf = (key: Buffer): string =>
  createHash("sha256").update("svc-server vault\n").update(key).digest("hex").slice(0, 16);

/** The key file beside a database. Its key decrypts the secrets. */
export const keyFileOf = (path: string) => `${path}.key`;

export const wrongKey = (database: string, key = `the key file ${keyFileOf(database)}`) =>
  new DatabaseError(database, `its secrets were encrypted with another key; restore ${key} that belongs to it`);

export function createEncryption(key: Buffer, random: (length: number) => Buffer): Encryption {
  return {
    encrypt(context, plaintext) {
      const nonce = random(nonceLength);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plaintext, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64");
    },
    decrypt(context, ciphertext) {
      const bytes = Buffer.from(ciphertext, "base64");
      const bodyStart = nonceLength + tagLength;
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceLength));
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(nonceLength, bodyStart));
      return Buffer.concat([decipher.update(bytes.subarray(bodyStart)), decipher.final()]).toString("utf8");
    },
    sign: (purpose, text) => createHmac("sha256", key).update(`${purpose}\n${text}`).digest("base64url"),
    fingerprint: fingerprintOf(key),
    withRandom: (other) => createEncryption(key, other),
  };
}

/** Reads the key file beside a database: 32 bytes in base64, readable only by its owner. Creates a missing file. */
export function readOrCreateKey(path: string, random: (length: number) => Buffer): Buffer {
  if (!existsSync(path)) writeKey(path, random(32));
  return readKey(path);
}

export const writeKey = (path: string, key: Buffer): void => writeAtomically(path, `${key.toString("base64")}\n`);

export function readKey(path: string): Buffer {
  const key = parseKey(readText(path).trim());
  if (!key) throw new Error("it does not hold 32 bytes in base64; restore it from a backup");
  return key;
}

/** Parses a key of 32 bytes in base64 or hex; undefined if invalid. */
export function parseKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64");
  return key.length === 32 ? key : undefined;
}

/** Atomic: a crash leaves the complete file or none. Durable once this returns. */
function writeAtomically(path: string, text: string): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, text, { flag: "wx", mode: 0o600, flush: true });
  renameSync(temporary, path);
  syncFolder(dirname(path));
}
