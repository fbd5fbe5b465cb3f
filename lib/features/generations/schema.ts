import * as v from "valibot";
import { parseInstant } from "../../kernel/clock.ts";
import { field, optionalField } from "../../kernel/field.ts";
import { documentedAs, id, text } from "../../kernel/validation.ts";
import { modelOf } from "./models.ts";

/** The values of the option `generations.finishedStatus`: the name that the API gives the finished state. */
export const finished = ["completed", "succeeded"] as const;

export const generation = field(
  v.object({
    id: field(id("gen"), "The identifier of the generation."),
    object: field(v.literal("generation"), "The kind of the record: always `generation`."),
    status: field(
      v.picklist(["queued", "in_progress", ...finished, "failed"]),
      "The status. A finished generation is `completed`, or `succeeded` with the option `generations.finishedStatus`.",
    ),
    progress: optionalField(
      v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
      "The part that is done, with two decimals. Only in progress, and if the driver of the model reports it.",
    ),
    model: field(v.string(), "The model that runs."),
    created_at: field(
      v.pipe(v.number(), v.integer()),
      "When it was created, in whole seconds since 1970.",
      1_795_251_600,
    ),
    input: field(v.record(v.string(), v.unknown()), "The inputs as given, with the defaults filled in."),
    output: optionalField(
      v.object({
        type: field(v.picklist(["image", "video"]), "The kind of the file."),
        url: field(
          v.string(),
          "A signed link to the file. It needs no key, and expires.",
          "https://svc.example.com/assets/gen_01KAJK2M00GEN0000000000000.png?signature=9f2c",
        ),
      }),
      "The file; only when finished, and as long as it is stored.",
    ),
    usage: field(
      v.object({ cost_usd: field(v.number(), "The cost, in US dollars; 0 unless it finished.") }),
      "What the generation cost.",
    ),
    error: optionalField(
      v.object({
        code: field(v.string(), "The error code, for programs."),
        message: field(v.string(), "The message, for people.", "The generation was cancelled"),
      }),
      "Why it failed; only when it did.",
    ),
  }),
  "A run of a model that makes an image or a video.",
);

const idOf = (body: unknown): string =>
  typeof body === "object" && body !== null && "model" in body && typeof body.model === "string" ? body.model : "";

/** A model and its inputs. Checked by the schema of that model; documented by the schema that any model accepts. */
export const newGeneration = v.pipe(
  v.lazy((body) => modelOf(idOf(body)).input),
  documentedAs(modelOf("").input),
);

const day = v.pipe(
  text(),
  v.check(
    (given) => parseInstant(given.length === 10 ? `${given}T00:00:00Z` : given) !== undefined,
    "must be a date such as 2026-01-31, or a datetime",
  ),
  v.transform((given) => new Date(given).toISOString().slice(0, 10)),
);

/** Days in UTC, both inclusive. */
export const usageQuery = v.pipe(
  v.object({
    from: optionalField(day, "The first day, in UTC. Without it, from the beginning."),
    to: optionalField(day, "The last day, in UTC, which is included. Without it, up to now."),
  }),
  v.forward(
    v.partialCheck(
      [["from"], ["to"]],
      ({ from, to }) => from === undefined || to === undefined || from <= to,
      "must not be before from",
    ),
    ["to"],
  ),
);

const counted = {
  generations: field(v.pipe(v.number(), v.integer()), "The number of finished generations."),
  cost_usd: field(v.number(), "Their cost, in US dollars."),
};
const daily = v.object({
  date: field(v.pipe(v.string(), v.isoDate()), "The day, in UTC."),
  model: field(v.string(), "The model."),
  ...counted,
});
export const usage = field(
  v.object({
    data: field(v.array(daily), "One entry for each model on each day with generations."),
    total: field(v.object(counted), "The sum of all entries."),
  }),
  "The generations of each model on each day, with their cost.",
);
