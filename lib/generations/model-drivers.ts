import type { GenerationDriver } from "../drivers/generation/contract.ts";
import { invalid } from "../kernel/errors.ts";
import { type Model, modelOf, models } from "./models.ts";

/** A model, and what runs it. */
export interface ModelDriver {
  readonly model: Model;
  readonly driver: GenerationDriver;
}

export type ModelDrivers = ReturnType<typeof createModelDrivers>;

/** Which driver runs which model: a backend's, or the one for all others. */
export function createModelDrivers({
  driver: given,
  makeDefault,
  backends,
  unknownModels,
}: {
  /** The one that was given for all models without a backend; its end is not ours. */
  driver: GenerationDriver | undefined;
  makeDefault: () => GenerationDriver;
  backends: readonly ModelDriver[];
  /** Option `generations.models`: `open` runs models that nobody has heard of, `strict` refuses them. */
  unknownModels: "open" | "strict";
}) {
  const driver = given ?? makeDefault();
  const named = new Map(backends.map((runner) => [runner.model.id, runner]));
  const known = [...new Set([...models.map(({ id }) => id), ...named.keys()])];
  const of = (id: string): ModelDriver => named.get(id) ?? { model: modelOf(id), driver };
  return {
    of,

    /** The model of what is asked for; throws a 422 where it cannot be run. */
    check(id: string, asked: Readonly<Record<string, unknown>>): Model {
      if (unknownModels === "strict" && !known.includes(id))
        throw invalid("model", `must be one of ${known.join(", ")}`);
      if (named.has(id) && !asked["prompt"]) throw invalid("prompt", "is required");
      return of(id).model;
    },

    close: async () => (given ? undefined : driver.close?.()),
  };
}
