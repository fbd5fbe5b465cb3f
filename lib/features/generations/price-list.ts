import { type Kind, type MediaSpec, resolutions } from "./inputs.ts";

/** US dollars by named resolution. Any other size costs as much as the next larger one, or the largest. */
export interface Price {
  readonly per: "image" | "second";
  readonly usd: Readonly<Partial<Record<keyof typeof resolutions, number>>>;
}

/** The public facts of a model, without its input rules. */
export interface ModelFacts {
  readonly id: string;
  readonly kind: Kind;
  readonly summary: string;
  readonly price: Price;
}

/** The models that are rendered offline. To add a model, add an entry. */
export const builtIn: readonly ModelFacts[] = [
  {
    id: "image-standard",
    kind: "image",
    summary: "Pictures, rendered offline",
    price: { per: "image", usd: { "512": 0.01, "1K": 0.04, "2K": 0.12 } },
  },
  {
    id: "image-draft",
    kind: "image",
    summary: "Pictures to try a prompt out, rendered offline",
    price: { per: "image", usd: { "512": 0.002, "1K": 0.005, "2K": 0.015 } },
  },
  {
    id: "video-standard",
    kind: "video",
    summary: "Films without sound, rendered offline",
    price: { per: "second", usd: { "480p": 0.05, "720p": 0.1, "1080p": 0.25 } },
  },
];

/** Costs are whole millionths of a dollar, so that sums are exact. */
export const microsOf = (usd: number): number => Math.round(usd * 1_000_000);
export const usdOf = (count: number): number => count / 1_000_000;

/** The cost in millionths of a dollar. */
export function costOf(price: Price, { kind, width, height, duration_ms }: MediaSpec): number {
  const side = kind === "image" ? Math.max(width, height) : Math.min(width, height);
  const named = Object.entries(price.usd)
    .map(([name, usd]) => ({ pixels: resolutions[name as keyof typeof resolutions], usd }))
    .sort((a, b) => a.pixels - b.pixels);
  const usd = (named.find(({ pixels }) => side <= pixels) ?? named.at(-1))?.usd ?? 0;
  return microsOf(price.per === "second" ? (usd * duration_ms) / 1000 : usd);
}
