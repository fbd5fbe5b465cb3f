import type { GenerationDriver } from "../drivers/generation.ts";
import { invalid } from "../kernel/errors.ts";
import { isBuiltIn, type Model, modelOf, models } from "./models.ts";

/** Which driver runs which model. */
export interface Runners {
  of(id: string): { readonly model: Model; readonly driver: GenerationDriver };
  /** The model of what is asked for; throws a 422 where it cannot be run. */
  judge(id: string, asked: Readonly<Record<string, unknown>>): Model;
  close(): Promise<void>;
}

/** Option `generations.models`: `open` runs models that nobody has heard of, `strict` refuses them. */
export function createRunners({
  driver: given,
  own,
  world,
}: {
  /** The one that was given; its end is not ours. */
  driver: GenerationDriver | undefined;
  own: () => GenerationDriver;
  world: "open" | "strict";
}): Runners {
  const driver = given ?? own();
  return {
    of: (id) => ({ model: modelOf(id), driver }),
    judge(id) {
      if (world === "strict" && !isBuiltIn(id))
        throw invalid("model", `must be one of ${models.map((model) => model.id).join(", ")}`);
      return modelOf(id);
    },
    close: async () => (given ? undefined : driver.close?.()),
  };
}
