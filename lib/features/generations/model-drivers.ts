import type { GenerationDriver } from "../../drivers/generation/contract.ts";
import { invalid } from "../../kernel/errors.ts";
import { type Model, modelOf, models } from "./models.ts";

export interface ModelDriver {
  readonly model: Model;
  readonly driver: GenerationDriver;
  /** Whether each order costs money. If a crash lost the answer to such an order, it is not sent again. */
  readonly ordersOnce: boolean;
}

export type ModelDrivers = ReturnType<typeof createModelDrivers>;

/** Finds the driver of a model: that of its backend, or the one for all other models. */
export function createModelDrivers({
  driver: given,
  makeDefault,
  backends,
  unknownModels,
}: {
  /** The option `generations.driver`, for models without a backend. Forks share it, so they do not close it. */
  driver: GenerationDriver | undefined;
  makeDefault: () => GenerationDriver;
  backends: readonly ModelDriver[];
  /** Option `generations.models`: `open` accepts models of any id, `strict` refuses unknown ones. */
  unknownModels: "open" | "strict";
}) {
  const driver = given ?? makeDefault();
  const named = new Map(backends.map((backend) => [backend.model.id, backend]));
  const accepted = [...new Set([...models.map(({ id }) => id), ...named.keys()])];
  const of = (id: string): ModelDriver => named.get(id) ?? { model: modelOf(id), driver, ordersOnce: false };
  return {
    of,

    /** The model with this id. Throws `validation_failed` if it cannot run with these inputs. */
    check(id: string, inputs: Readonly<Record<string, unknown>>): Model {
      if (unknownModels === "strict" && !accepted.includes(id))
        throw invalid("model", `must be one of ${accepted.join(", ")}`);
      if (named.has(id) && !inputs["prompt"]) throw invalid("prompt", "is required");
      return of(id).model;
    },

    async close() {
      const drivers = new Set([...backends.map((backend) => backend.driver), ...(given ? [] : [driver])]);
      await Promise.all([...drivers].map((one) => one.close?.()));
    },
  };
}
