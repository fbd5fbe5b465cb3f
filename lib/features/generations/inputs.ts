import type { GenerationWork } from "../../drivers/generation/contract.ts";

/** The parsed inputs of a generation: what a driver has to produce. */
export type MediaSpec = Pick<
  GenerationWork,
  "kind" | "prompt" | "width" | "height" | "format" | "seed" | "duration_ms"
>;
export type Kind = MediaSpec["kind"];

export const defaults = {
  image: { aspect_ratio: "1:1", resolution: "1K", output_format: "png", seed: 0 },
  video: { aspect_ratio: "16:9", resolution: "480p", output_format: "mp4", seed: 0, duration: 2 },
} as const;

const ratios = ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"] as const;
/** The inputs of the built-in models. */
export const choices = {
  image: {
    aspect_ratio: ratios,
    resolution: ["512", "1K", "2K"],
    output_format: ["png", "jpeg", "jpg", "webp"],
  },
  video: { aspect_ratio: ratios, resolution: ["480p", "720p", "1080p"], output_format: ["mp4"] },
} as const;

/** Named resolutions in pixels: the long side of images, the short side of videos. */
export const resolutions = { "512": 512, "1K": 1024, "2K": 2048, "480p": 480, "720p": 720, "1080p": 1080 } as const;
const formats = {
  image: { png: "png", jpeg: "jpeg", jpg: "jpeg", webp: "webp" },
  video: { mp4: "mp4" },
} as const;
export const maxSeed = 4_294_967_295;
/** The length of a video in seconds. */
export const durationLimits_s = { least: 1, most: 8 } as const;
/** Limits of each side, in pixels. */
const sideLimits = { least: 16, most: 2048 } as const;

const even = (pixels: number) => 2 * Math.round(pixels / 2);
const clamped = (pixels: number) => Math.min(sideLimits.most, Math.max(sideLimits.least, pixels));
const isWhole = (value: unknown, from: number, to: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= from && value <= to;
const lookUp = <T>(table: Readonly<Record<string, T>>, value: unknown): T | undefined =>
  typeof value === "string"
    ? Object.entries(table).find(([name]) => name.toLowerCase() === value.toLowerCase())?.[1]
    : undefined;

type Inputs = Readonly<Record<string, unknown>>;

/** Uses known values; unknown ones fall back to the default. */
export function parseInputs(kind: Kind, inputs: Inputs): MediaSpec {
  const { prompt, output_format, seed, duration } = inputs;
  const { output_format: defaultFormat } = defaults[kind];
  const { least, most } = durationLimits_s;
  const duration_s = isWhole(duration, least, most) ? duration : defaults.video.duration;
  return {
    kind,
    prompt: typeof prompt === "string" ? prompt : "",
    ...sizeOf(kind, inputs),
    format: lookUp<MediaSpec["format"]>(formats[kind], output_format) ?? defaultFormat,
    seed: isWhole(seed, 0, maxSeed) ? seed : 0,
    duration_ms: kind === "image" ? 0 : duration_s * 1000,
  };
}

/** A size by ratio has even sides (schema/generations.md#sizes-and-other-models). */
function sizeOf(kind: Kind, { aspect_ratio, resolution }: Inputs): { width: number; height: number } {
  const { least, most } = sideLimits;
  const exact = pairOf(resolution, /^(\d{2,4})x(\d{2,4})$/);
  if (exact?.every((side) => side >= least && side <= most)) {
    const [width, height] = kind === "video" ? exact.map(even) : exact;
    return { width: width ?? least, height: height ?? least };
  }
  const named = lookUp(resolutions, resolution) ?? resolutions[defaults[kind].resolution];
  const [across, down] = pairOf(aspect_ratio, /^(\d{1,4}):(\d{1,4})$/) ?? (kind === "image" ? [1, 1] : [16, 9]);
  const ratio = Math.max(across, down) / Math.min(across, down);
  const wanted = kind === "image" ? named : named * ratio;
  const long = clamped(even(wanted));
  const short = clamped(even(kind === "image" || wanted > most ? long / ratio : named));
  return across >= down ? { width: long, height: short } : { width: short, height: long };
}

function pairOf(value: unknown, pattern: RegExp): [number, number] | undefined {
  const match = typeof value === "string" ? pattern.exec(value) : undefined;
  const [a, b] = [Number(match?.[1]), Number(match?.[2])];
  return a > 0 && b > 0 ? [a, b] : undefined;
}
