import * as v from "valibot";
import type { GenerationDriver } from "../../drivers/generation/contract.ts";
import { finished } from "../../features/generations/schema.ts";
import { field } from "../../kernel/field.ts";
import { oneOf, textLike, textOf } from "../../kernel/validation.ts";
import {
  checkedText,
  duration,
  group,
  option,
  plainUrl,
  positive,
  visibleText,
  withFunctions,
} from "./option-types.ts";

const httpUrl = checkedText(
  (text) => plainUrl(text) !== undefined,
  "must be an http or https URL such as http://localhost:8080/v1",
);
const sizes = v.array(textLike(9, /^[1-9]\d{1,3}x[1-9]\d{1,3}$/, "must be a size such as 1024x1536"), "must be a list");
const price = v.pipe(v.number("must be a number"), v.minValue(0, "must be 0 or more"), v.finite());
const ofModel = {
  kind: v.optional(field(oneOf(["image", "video"]), "What the model makes."), "image"),
  price: v.optional(field(price, "The price of an image, or of a film, in US dollars."), 0),
} as const;
const model = v.strictObject({
  ...ofModel,
  model: v.optional(field(textOf(1, 255), "The name at the server; by default the name that callers use.")),
  pricePerSecond: v.optional(
    field(price, "The price of a second of film, in US dollars. Without it, `price` is the price of the whole film."),
  ),
  sizes: v.optional(
    field(sizes, "The sizes that the model makes, in pixels. Without them, requests ask for the exact size."),
  ),
  extra: v.optional(field(v.record(v.string(), v.unknown()), "Further fields of each request; none by default.")),
});
const remote = {
  idempotent: v.optional(
    field(
      v.boolean("must be true or false"),
      "Whether it answers a repeated `Idempotency-Key` without making and billing a second file. If not, an order that a crash of the service interrupted is sent again only if it costs nothing.",
    ),
    false,
  ),
  url: field(httpUrl, "The URL of its API, with the version.", "https://models.example.com/v1"),
  key: v.optional(field(visibleText("a key"), "Its API key; without it, requests carry none.")),
  models: field(v.record(textOf(1, 255), model), "Its models, by the names that callers use."),
  downloads: v.optional(
    field(
      v.array(
        v.pipe(
          httpUrl,
          v.transform((text) => new URL(text).origin),
        ),
        "must be a list",
      ),
      "Further origins from which its files may be fetched; its own is always allowed.",
    ),
    [],
  ),
} as const;
const whole = field(duration, "How long a generation may take, such as `30m`.");
const jobs = { ...remote, timeout: v.optional(whole, "30m") } as const;
const type = <const T extends string>(name: T, meaning: string) => field(v.literal(name), meaning);
const command = v.strictObject({
  type: type("command", "A program of this machine."),
  command: field(
    v.pipe(v.array(textOf(1, 4096), "must be a list of arguments"), v.minLength(1, "must name a program")),
    "The program and its arguments, with `{prompt}`, `{width}`, `{height}`, `{seed}`, `{seconds}` and `{output}`. No shell reads it.",
  ),
  env: v.optional(
    field(
      v.record(textOf(1, 255), textOf(0, 4096)),
      "The environment variables of the program; it inherits none of the server's.",
    ),
    {},
  ),
  models: field(v.record(textOf(1, 255), v.strictObject(ofModel)), "Its models, by the names that callers use."),
  timeout: v.optional(whole, "30m"),
});
const backend = v.variant(
  "type",
  [
    v.strictObject({
      type: type("openai", "A server with OpenAI's image API."),
      ...remote,
      timeout: v.optional(field(duration, "How long one request may take, such as `5m`."), "5m"),
    }),
    v.strictObject({ type: type("predictions", "A server with the predictions API of Replicate and Cog."), ...jobs }),
    v.strictObject({ type: type("sdcpp", "The server of stable-diffusion.cpp, with its job API."), ...jobs }),
    v.strictObject({
      type: type("openrouter", "OpenRouter, for images and films."),
      ...jobs,
      url: v.optional(
        field(httpUrl, "The URL of its API, with the version.", "https://models.example.com/v1"),
        "https://openrouter.ai/api/v1",
      ),
    }),
    command,
  ],
  "must be openai, predictions, sdcpp, openrouter or command",
);

export const generations = group({
  concurrency: option(positive(10_000), {
    default: 16,
    help: "The number of generations that run at the same time, in the whole service. Organizations take turns.",
  }),
  finishedStatus: option(oneOf(finished), {
    default: "completed",
    help: "The status of a finished generation: `completed` or `succeeded`.",
  }),
  media: option(oneOf(["painted", "fast"]), {
    default: "painted",
    help: "The files of built-in models: `painted` pictures, or `fast` placeholders in the prompt's colours with the prompt on them.",
  }),
  models: option(oneOf(["open", "strict"]), {
    default: "open",
    help: "`open` runs any model; `strict` refuses unknown models.",
  }),
  retention: option(duration, {
    default: "30d",
    help: "How long the file of a finished generation is stored, such as `30d`.",
  }),
  backends: option(v.record(textOf(1, 64), backend), {
    default: {},
    help: "Servers and programs that run models, by name. See the chapter on generations.",
  }),
  driver: option(withFunctions<GenerationDriver>("delay, submit, poll and cancel"), {
    help: "Your driver for models that no backend lists. Without it, an offline painter simulates them.",
    example: "simulatedGenerations()",
  }),
});
