import { timingSafeEqual } from "node:crypto";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Core } from "../core.ts";

/** The types that a browser may display. Files of any other type are downloaded. */
const inlineTypes = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "video/mp4": "mp4",
  "video/webm": "webm",
} as const;

export const isInline = (type: string): boolean => type in inlineTypes;
const extensionOf = (type: string): string => inlineTypes[type as keyof typeof inlineTypes] ?? "bin";

/** How long a link is valid; every read of the generation creates a new one (schema/generations.md#files). */
const lifetime_s = milliseconds("24h") / 1000;
export const assetsPath = "/assets/";

type Ports = Pick<Core, "clock" | "encryption" | "origin">;

export type AssetLinks = ReturnType<typeof createAssetLinks>;

/** Links that need no API key. The signing key is stored next to the database, so they survive a restart. */
export function createAssetLinks({ clock, encryption, origin }: Ports) {
  const sign = (name: string, expires: string) => encryption.sign("asset link", `${name}\n${expires}`);
  return {
    make(id: string, type: string): string {
      const name = `${id}.${extensionOf(type)}`;
      const expires = String(Math.ceil(clock.now() / 1000) + lifetime_s);
      return `${origin()}${assetsPath}${name}?expires=${expires}&signature=${sign(name, expires)}`;
    },
    /** The generation of a link and the seconds until it expires; undefined if the link was altered or has expired. */
    verify(path: string, query: URLSearchParams): { id: string; remaining_s: number } | undefined {
      const name = path.slice(assetsPath.length);
      const expires = query.get("expires") ?? "";
      const signature = Buffer.from(query.get("signature") ?? "");
      const expected = Buffer.from(sign(name, expires));
      if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return undefined;
      const remaining_s = Number(expires) - clock.now() / 1000;
      return remaining_s > 0
        ? { id: name.slice(0, name.lastIndexOf(".")), remaining_s: Math.floor(remaining_s) }
        : undefined;
    },
  };
}
