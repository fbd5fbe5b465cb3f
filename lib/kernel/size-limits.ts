import * as v from "valibot";
import { maxLevels } from "./limits.ts";
import { isObject } from "./text/json.ts";
import { documentedAs } from "./validation.ts";

const itemsOf = (given: unknown): number => (Array.isArray(given) ? given.length : 0);
const fieldsOf = (given: unknown): number => (isObject(given) ? Object.keys(given).length : 0);

/** The schema, but with more than `most` items it checks none. The caller adds the rule that refuses them. */
const unlessMore = <S extends v.GenericSchema>(schema: S, most: number, sizeOf: (given: unknown) => number): S => ({
  ...schema,
  "~run": (dataset, config) =>
    sizeOf(dataset.value) > most
      ? { typed: true, value: dataset.value as v.InferOutput<S> }
      : schema["~run"](dataset, config),
});

/** A list of at most `most` items. Nothing of a longer one is checked, which could take many seconds. */
export const listOf = <T extends v.GenericSchema>(
  item: T,
  most: number,
  message = "must be a list",
  tooLong = `must have at most ${most}`,
) => v.pipe(unlessMore(v.array(item, message), most, itemsOf), v.maxLength(most, tooLong));

/** An object with at most `most` fields. Nothing of a larger one is checked. */
export const ofFewFields = <S extends v.GenericSchema<object>>(schema: S, most: number, tooMany: string) =>
  v.pipe(
    unlessMore(schema, most, fieldsOf),
    v.check((given) => fieldsOf(given) <= most, tooMany),
    documentedAs<v.InferOutput<S>>({ maxProperties: most }),
  );

/** Whether a value has more levels than `maxLevels`. True for a value that contains itself. */
export function isTooDeep(given: unknown): boolean {
  let level = new Set([given]);
  for (let levels = 0; levels <= maxLevels; levels++) {
    const containers = [...level].filter((one) => typeof one === "object" && one !== null) as object[];
    if (containers.length === 0) return false;
    level = new Set(containers.flatMap((one) => Object.values(one)));
  }
  return true;
}
