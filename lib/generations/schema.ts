import * as v from "valibot";
import { parseInstant } from "../kernel/clock.ts";
import { documentedAs, id, paging, text } from "../kernel/validation.ts";
import { modelOf } from "./models.ts";

/** The finished value of the interface; option `generations.finishedStatus`. */
export const finished = ["completed", "succeeded"] as const;

/** SPEC "Generation", with the additions of CONTRACT section 5. */
export const generation = v.object({
  id: id("gen"),
  object: v.literal("generation"),
  status: v.picklist(["queued", "in_progress", ...finished, "failed"]),
  model: v.string(),
  /** In whole seconds since 1970. */
  created_at: v.pipe(v.number(), v.integer()),
  /** The inputs as given, with the defaults filled in. */
  input: v.record(v.string(), v.unknown()),
  /** Only when finished, and as long as the file is kept. */
  output: v.optional(v.object({ type: v.picklist(["image", "video"]), url: v.string() })),
  usage: v.object({ cost_usd: v.number() }),
  /** Only when failed. */
  error: v.optional(v.object({ code: v.string(), message: v.string() })),
});

const idOf = (body: unknown): string =>
  typeof body === "object" && body !== null && "model" in body && typeof body.model === "string" ? body.model : "";

/** A model and its inputs, checked by the schema of that model; documented by the schema of any model. */
export const newGeneration = v.pipe(
  v.lazy((body) => modelOf(idOf(body)).input),
  documentedAs(modelOf("").input),
);

export const generationsQuery = v.object(paging());

const day = v.pipe(
  text(),
  v.check(
    (given) => parseInstant(given.length === 10 ? `${given}T00:00:00Z` : given) !== undefined,
    "must be a date such as 2026-01-31, or a datetime",
  ),
  v.transform((given) => new Date(given).toISOString().slice(0, 10)),
);

/** Days in UTC, both included. */
export const usageQuery = v.pipe(
  v.object({ from: v.optional(day), to: v.optional(day) }),
  v.forward(
    v.partialCheck(
      [["from"], ["to"]],
      ({ from, to }) => from === undefined || to === undefined || from <= to,
      "must not be before from",
    ),
    ["to"],
  ),
);

const counted = { generations: v.pipe(v.number(), v.integer()), cost_usd: v.number() };
export const usage = v.object({
  data: v.array(v.object({ date: v.pipe(v.string(), v.isoDate()), model: v.string(), ...counted })),
  total: v.object(counted),
});
