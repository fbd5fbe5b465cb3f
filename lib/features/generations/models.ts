import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { maxPrompt } from "../../kernel/limits.ts";
import { ofFewFields } from "../../kernel/size-limits.ts";
import { oneOf, textOf, wholeNumber } from "../../kernel/validation.ts";
import { choices, defaults, durationLimits_s, maxSeed } from "./inputs.ts";
import { builtIn, type ModelFacts } from "./price-list.ts";

/** A model's id and its inputs: the named ones and any others. */
export type NewGeneration = {
  model: string;
  prompt?: string | undefined;
  aspect_ratio?: string | undefined;
  resolution?: string | undefined;
  output_format?: string | undefined;
} & Record<string, unknown>;
type Inputs = v.GenericSchema<NewGeneration, { model: string } & Record<string, unknown>>;

/** A model and the schema of its request body. */
export interface Model extends ModelFacts {
  readonly input: Inputs;
}

const prompted = "What to make, in words.";
const model = field(textOf(1, 255), "The model: a built-in one, one of a backend, or any other.");
const prompt = field(textOf(1, maxPrompt), prompted);
const seed = field(wholeNumber(0, maxSeed), "The same seed and inputs make the same file; 0 by default.");
const ratio = `Width to height; ${defaults.image.aspect_ratio} by default for images, ${defaults.video.aspect_ratio} for videos.`;
const size = `The size; ${defaults.image.resolution} by default for images, ${defaults.video.resolution} for videos.`;
const format = "The format of the file; png by default for images, mp4 for videos.";

const fieldsOf = ({ aspect_ratio, resolution, output_format }: (typeof choices)[Model["kind"]]) => ({
  model,
  prompt,
  aspect_ratio: optionalField(oneOf(aspect_ratio), ratio),
  resolution: optionalField(oneOf(resolution), size),
  output_format: optionalField(oneOf(output_format), format),
  seed: v.optional(seed),
});
const imageInput = v.object(fieldsOf(choices.image));
const videoInput = v.object({
  ...fieldsOf(choices.video),
  duration: optionalField(
    wholeNumber(durationLimits_s.least, durationLimits_s.most),
    `The length of the video in seconds; ${defaults.video.duration} by default.`,
  ),
});

const inputsOf = { image: imageInput, video: videoInput } as const;

export const models: readonly Model[] = builtIn.map((model) => ({ ...model, input: inputsOf[model.kind] }));

const text = (most: number, meaning: string) => optionalField(textOf(0, most), meaning);
/** Any inputs; those named here must be strings (schema/generations.md#sizes-and-other-models). */
const anyInput = v.looseObject({
  model,
  prompt: text(maxPrompt, `${prompted} Built-in models need it; others may run without.`),
  aspect_ratio: text(255, ratio),
  resolution: text(255, size),
  output_format: text(255, format),
});
const openInput = ofFewFields(anyInput, 1_000, "must have at most 1000 inputs");

const byId = new Map(models.map((model) => [model.id, model]));

/** An unknown model makes videos if its id contains "video", and costs as much as the standard one. */
export function modelOf(id: string): Model {
  const listed = byId.get(id);
  if (listed) return listed;
  const kind = /video/i.test(id) ? "video" : "image";
  const price = models.find((model) => model.kind === kind)?.price ?? { per: "image", usd: {} };
  return { id, kind, summary: "A model that is not known here", input: openInput, price };
}

/** A model of a backend: takes any inputs and has one price per file. */
export const backendModel = (id: string, { kind, price }: { kind: Model["kind"]; price: number }): Model => ({
  id,
  kind,
  summary: "A model of a backend",
  input: openInput,
  price: { per: "image", usd: { "2K": price } },
});
