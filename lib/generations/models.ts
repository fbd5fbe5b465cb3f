import * as v from "valibot";
import { oneOf, textOf, wholeNumber } from "../kernel/validation.ts";
import { durationLimits_s, type Kind, type MediaSpec, maxSeed, resolutions } from "./inputs.ts";

/**
 * The price of an image, or of a second of a film, at each named resolution, in US dollars. Any other size costs as much
 * as the next larger named one, or as the largest.
 */
export interface Price {
  readonly per: "image" | "second";
  readonly usd: Readonly<Partial<Record<keyof typeof resolutions, number>>>;
}

/** A model's id and its inputs: the named ones, and any others. */
export type NewGeneration = {
  model: string;
  prompt?: string | undefined;
  aspect_ratio?: string | undefined;
  resolution?: string | undefined;
  output_format?: string | undefined;
} & Record<string, unknown>;
type Inputs = v.GenericSchema<NewGeneration, { model: string } & Record<string, unknown>>;

/** A model. Adding one is adding an entry. */
export interface Model {
  readonly id: string;
  readonly kind: Kind;
  readonly summary: string;
  /** The schema of a request's body. */
  readonly input: Inputs;
  readonly price: Price;
}

/** CONTRACT section 5: "prompt at most 4,000 characters". */
const longestPrompt = 4000;
const model = textOf(1, 255);
const prompt = textOf(1, longestPrompt);
const ratio = oneOf(["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"]);
const seed = wholeNumber(0, maxSeed);

const imageInput = v.object({
  model,
  prompt,
  aspect_ratio: v.optional(ratio),
  resolution: v.optional(oneOf(["512", "1K", "2K"])),
  output_format: v.optional(oneOf(["png", "jpeg", "jpg", "webp"])),
  seed: v.optional(seed),
});
const videoInput = v.object({
  model,
  prompt,
  aspect_ratio: v.optional(ratio),
  resolution: v.optional(oneOf(["480p", "720p", "1080p"])),
  output_format: v.optional(oneOf(["mp4"])),
  seed: v.optional(seed),
  duration: v.optional(wholeNumber(durationLimits_s.least, durationLimits_s.most)),
});

export const models: readonly Model[] = [
  {
    id: "image-standard",
    kind: "image",
    summary: "Pictures, rendered offline",
    input: imageInput,
    price: { per: "image", usd: { "512": 0.01, "1K": 0.04, "2K": 0.12 } },
  },
  {
    id: "image-draft",
    kind: "image",
    summary: "Pictures to try a prompt out, rendered offline",
    input: imageInput,
    price: { per: "image", usd: { "512": 0.002, "1K": 0.005, "2K": 0.015 } },
  },
  {
    id: "video-standard",
    kind: "video",
    summary: "Films without sound, rendered offline",
    input: videoInput,
    price: { per: "second", usd: { "480p": 0.05, "720p": 0.1, "1080p": 0.25 } },
  },
];

const text = (most: number) => v.optional(textOf(0, most));
/** CONTRACT section 5, unknown models: "takes any inputs. The four named inputs must be strings where given". */
const openInput = v.looseObject({
  model,
  prompt: text(longestPrompt),
  aspect_ratio: text(255),
  resolution: text(255),
  output_format: text(255),
});

const byId = new Map(models.map((model) => [model.id, model]));

/** The model of an id. An unknown one makes films where its id contains "video", and costs as much as the standard model. */
export function modelOf(id: string): Model {
  const known = byId.get(id);
  if (known) return known;
  const kind = /video/i.test(id) ? "video" : "image";
  const price = models.find((model) => model.kind === kind)?.price ?? { per: "image", usd: {} };
  return { id, kind, summary: "A model that is not known here", input: openInput, price };
}

/** A model of a backend: any inputs, images, one price. */
export const backendModel = (id: string, usd: number): Model => ({
  id,
  kind: "image",
  summary: "A model of a backend",
  input: openInput,
  price: { per: "image", usd: { "2K": usd } },
});

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
