import { type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { createRandom } from "../random.ts";

/** About 60 ms and 32 MiB for each password. */
const cost: ScryptOptions = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 ** 2 };
const length = 32;

export type PasswordHashes = ReturnType<typeof createPasswordHashes>;

export function createPasswordHashes() {
  /** The waiting hashes of each organization or protected app. */
  const waiting = new Map<string, (() => void)[]>();
  let isBusy = false;

  /** Begins the next hash, if there is one. Organizations and protected apps take turns. */
  function begin(): void {
    const [next] = waiting;
    isBusy = next !== undefined;
    if (next === undefined) return;
    const [by, its] = next;
    const start = its.shift();
    waiting.delete(by);
    if (its.length > 0) waiting.set(by, its);
    start?.();
  }

  /** One hash at a time, because hashes use the threads that also read files and look up names. */
  const derive = (password: string, salt: Buffer, by: string) =>
    new Promise<Buffer>((resolve, reject) => {
      const start = () =>
        scrypt(password.normalize("NFC"), salt, length, cost, (error, key) => {
          begin();
          return error ? reject(error) : resolve(key);
        });
      const its = waiting.get(by) ?? [];
      its.push(start);
      waiting.set(by, its);
      if (!isBusy) begin();
    });

  /** The stored form of a password of an organization: its salt and its scrypt hash. */
  async function hashPassword(password: string, organization_id: string): Promise<string> {
    const salt = createRandom().bytes(16);
    return `${salt.toString("base64url")}.${(await derive(password, salt, organization_id)).toString("base64url")}`;
  }

  async function isPassword(stored: string, given: string): Promise<boolean> {
    const [salt = "", hash = ""] = stored.split(".").map((part) => Buffer.from(part, "base64url"));
    if (salt.length === 0 || hash.length !== length) return false;
    return timingSafeEqual(await derive(given, Buffer.from(salt), stored), Buffer.from(hash));
  }

  return { hashPassword, isPassword };
}
