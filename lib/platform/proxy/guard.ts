import { createHmac } from "node:crypto";
import type { Protection } from "../../features/environments/protection.ts";
import { createRandom } from "../../kernel/random.ts";
import type { PasswordHashes } from "../../kernel/secrets/password-hash.ts";
import { createOneAtATime } from "../runtime/one-at-a-time.ts";

/** `busy`: too many passwords are waiting to be checked, and the client may try again. */
export type Admission = "passed" | "refused" | "busy";
export type Guard = ReturnType<typeof createGuard>;

/** How many right and how many wrong credentials are remembered, so that attackers cannot fill the memory. */
const remembered = 256;
/** A check keeps a processor busy for a while. Each app runs one at a time, and at most this many wait. */
const maxWaiting = 16;

function credentialsOf(header: string): { user: string; password: string } | undefined {
  const [, coded] = /^basic +([A-Za-z0-9+/]+=*) *$/i.exec(header) ?? [];
  const text = coded === undefined ? "" : Buffer.from(coded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Requires Basic authentication. Computes the slow hash only once for each `Authorization` header. */
export function createGuard({ user, hash }: Protection, { isPassword }: Pick<PasswordHashes, "isPassword">) {
  // Only keyed hashes of credentials are kept in memory. The key is unique to this process.
  const key = createRandom().bytes(32);
  const checked = new Map<string, boolean>();
  const checks = new Map<string, Promise<boolean>>();
  const oneAtATime = createOneAtATime();

  const remember = (name: string, isRight: boolean) => {
    const same = [...checked].filter(([, one]) => one === isRight);
    if (same.length >= remembered) checked.delete(same[0]?.[0] ?? "");
    checked.set(name, isRight);
    return isRight;
  };

  const check = (name: string, password: string, isUser: boolean) => {
    const work = async () => remember(name, (await isPassword(hash, password)) && isUser);
    const checking = oneAtATime("passwords", work).finally(() => checks.delete(name));
    checks.set(name, checking);
    return checking;
  };

  return {
    protection: { user, hash },

    /** Whether a request with this header may pass. Synchronous if the same header was checked before. */
    admits(header: string | undefined): Admission | Promise<Admission> {
      if (header === undefined || header.length > 4096) return "refused";
      const name = createHmac("sha256", key).update(header).digest("base64");
      const before = checked.get(name);
      if (before !== undefined) return before ? "passed" : "refused";
      const credentials = credentialsOf(header);
      if (!credentials) return "refused";
      const running = checks.get(name);
      if (!running && checks.size >= maxWaiting) return "busy";
      // Check the password even if the user is wrong, so that both cases take equally long.
      const checking = running ?? check(name, credentials.password, credentials.user === user);
      return checking.then((isRight) => (isRight ? "passed" : "refused"));
    },
  };
}
