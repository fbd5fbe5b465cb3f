import * as v from "valibot";
import { oneOf, textOf, wholeNumber } from "../kernel/validation.ts";
import { choices, durationLimits_s, maxSeed } from "./inputs.ts";
import { builtIn, type ModelFacts } from "./price-list.ts";

/** A model's id and its inputs: the named ones, and any others. */
export type NewGeneration = {
  model: string;
  prompt?: string | undefined;
  aspect_ratio?: string | undefined;
  resolution?: string | undefined;
  output_format?: string | undefined;
} & Record<string, unknown>;
type Inputs = v.GenericSchema<NewGeneration, { model: string } & Record<string, unknown>>;

/** A model with the schema of a request's body. */
export interface Model extends ModelFacts {
  readonly input: Inputs;
}

/** CONTRACT section 5: "prompt at most 4,000 characters". */
const longestPrompt = 4000;
const model = textOf(1, 255);
const prompt = textOf(1, longestPrompt);
const seed = wholeNumber(0, maxSeed);

const imageInput = v.object({
  model,
  prompt,
  aspect_ratio: v.optional(oneOf(choices.image.aspect_ratio)),
  resolution: v.optional(oneOf(choices.image.resolution)),
  output_format: v.optional(oneOf(choices.image.output_format)),
  seed: v.optional(seed),
});
const videoInput = v.object({
  model,
  prompt,
  aspect_ratio: v.optional(oneOf(choices.video.aspect_ratio)),
  resolution: v.optional(oneOf(choices.video.resolution)),
  output_format: v.optional(oneOf(choices.video.output_format)),
  seed: v.optional(seed),
  duration: v.optional(wholeNumber(durationLimits_s.least, durationLimits_s.most)),
});

const inputsOf = { image: imageInput, video: videoInput } as const;

export const models: readonly Model[] = builtIn.map((model) => ({ ...model, input: inputsOf[model.kind] }));

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
