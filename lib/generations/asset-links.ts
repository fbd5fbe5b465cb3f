import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import type { Encryption } from "../store/encryption.ts";

/** The types that may be shown in a browser. Whatever else a driver brings is handed out as a download. */
const shown = { "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "video/mp4": "mp4" } as const;

export const isShown = (type: string): boolean => type in shown;
const extensionOf = (type: string): string => shown[type as keyof typeof shown] ?? "bin";

/** CONTRACT section 5: "signed, valid for 24 hours, made anew at each read". */
const valid_s = milliseconds("24h") / 1000;
export const prefix = "/assets/";

export type Links = ReturnType<typeof createLinks>;

/** Links that need no key: `/assets/gen_….png?expires=…&signature=…`. The encryption key signs them, so they survive a restart. */
export function createLinks({
  clock,
  encryption,
  origin,
}: {
  clock: Clock;
  encryption: Encryption;
  origin: () => string;
}) {
  const sign = (name: string, expires: string) => encryption.sign("asset link", `${name}\n${expires}`);
  return {
    make(id: string, type: string): string {
      const name = `${id}.${extensionOf(type)}`;
      const expires = String(Math.ceil(clock.now() / 1000) + valid_s);
      return `${origin()}${prefix}${name}?expires=${expires}&signature=${sign(name, expires)}`;
    },
    /** The generation that a link leads to, and how many seconds it is still valid; undefined for one that is changed or too old. */
    open(path: string, query: URLSearchParams): { id: string; left_s: number } | undefined {
      const name = path.slice(prefix.length);
      const expires = query.get("expires") ?? "";
      const given = Buffer.from(query.get("signature") ?? "");
      const right = Buffer.from(sign(name, expires));
      if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
      const left_s = Number(expires) - clock.now() / 1000;
      return left_s > 0 ? { id: name.slice(0, name.lastIndexOf(".")), left_s: Math.floor(left_s) } : undefined;
    },
  };
}
