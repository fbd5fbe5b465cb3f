import * as v from "valibot";
import type { GenerationDriver } from "../../drivers/generation/contract.ts";
import { parseHttpUrl } from "../../drivers/outbound/target.ts";
import { finished } from "../../generations/schema.ts";
import { oneOf, textLike, textOf } from "../../kernel/validation.ts";
import { duration, option, positive } from "./option-types.ts";

const generationDriver = v.custom<GenerationDriver>(
  (value) =>
    ["delay", "submit", "poll", "cancel"].every(
      (name) => typeof (value as Record<string, unknown> | null)?.[name] === "function",
    ),
  "must have the functions delay, submit, poll and cancel",
);

const httpUrl = v.pipe(
  v.string("must be a string"),
  v.check(
    (text) => parseHttpUrl(text)?.search === "" && new URL(text).hash === "",
    "must be an http or https URL such as http://localhost:8080/v1",
  ),
);
const sizes = v.array(textLike(9, /^[1-9]\d{1,3}x[1-9]\d{1,3}$/, "must be a size such as 1024x1536"), "must be a list");
const backend = v.strictObject({
  type: oneOf(["openai"]),
  url: httpUrl,
  key: v.optional(textLike(4096, /^[\x21-\x7e]+$/, "must be a key of visible ASCII characters")),
  models: v.record(
    textOf(1, 255),
    v.strictObject({
      model: v.optional(textOf(1, 255)),
      price: v.optional(v.pipe(v.number("must be a number"), v.minValue(0, "must be 0 or more"), v.finite()), 0),
      sizes: v.optional(sizes),
      extra: v.optional(v.record(v.string(), v.unknown())),
    }),
  ),
  downloads: v.optional(
    v.array(
      v.pipe(
        httpUrl,
        v.transform((text) => new URL(text).origin),
      ),
      "must be a list",
    ),
    [],
  ),
  timeout: v.optional(duration, "5m"),
});

export const generations = v.optional(
  v.strictObject({
    concurrency: v.optional(
      option(positive(10_000), { help: "The number of generations that run at the same time, in the whole service." }),
      16,
    ),
    finishedStatus: v.optional(
      option(oneOf(finished), { help: "The status of a finished generation: `completed` or `succeeded`." }),
      "completed",
    ),
    media: v.optional(
      option(oneOf(["painted", "fast"]), {
        help: "The files of built-in models: `painted` pictures, or `fast` placeholders in the prompt's colours with the prompt on them.",
      }),
      "painted",
    ),
    models: v.optional(
      option(oneOf(["open", "strict"]), { help: "`open` runs any model; `strict` refuses unknown models." }),
      "open",
    ),
    retention: v.optional(
      option(duration, { help: "How long the file of a finished generation is stored, such as `30d`." }),
      "30d",
    ),
    backends: v.optional(
      option(v.record(textOf(1, 64), backend), {
        help: "Servers that run models, by name. See the chapter on generations.",
      }),
      {},
    ),
    driver: v.optional(
      option(generationDriver, {
        help: "The driver that runs all other models. Without it, an offline painter simulates them.",
      }),
    ),
  }),
  {},
);
