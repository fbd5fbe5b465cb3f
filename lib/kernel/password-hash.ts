import { type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { createRandom } from "./random.ts";

/** About 60 ms and 32 MiB for each password. */
const cost: ScryptOptions = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 ** 2 };
const length = 32;

const derive = (password: string, salt: Buffer) =>
  new Promise<Buffer>((resolve, reject) =>
    scrypt(password.normalize("NFC"), salt, length, cost, (error, key) => (error ? reject(error) : resolve(key))),
  );

/** The stored form of a password: its salt and its scrypt hash. */
export async function hashPassword(password: string): Promise<string> {
  const salt = createRandom().bytes(16);
  return `${salt.toString("base64url")}.${(await derive(password, salt)).toString("base64url")}`;
}

/** Whether a password matches a stored hash. */
export async function isPassword(stored: string, given: string): Promise<boolean> {
  const [salt = "", hash = ""] = stored.split(".").map((part) => Buffer.from(part, "base64url"));
  if (salt.length === 0 || hash.length !== length) return false;
  return timingSafeEqual(await derive(given, Buffer.from(salt)), Buffer.from(hash));
}
