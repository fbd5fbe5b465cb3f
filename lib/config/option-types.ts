import * as v from "valibot";
import { parseDuration } from "../kernel/duration.ts";
import { wholeNumber } from "../kernel/validation.ts";

/** A whole number of at least one. */
export const positive = (most = 1_000_000_000) => wholeNumber(1, most);

/** Such as `"30d"`; read into milliseconds. */
export const duration = v.pipe(
  v.string("must be a string"),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const ms = parseDuration(dataset.value);
    if (ms !== undefined && ms > 0) return ms;
    addIssue({ message: 'must be a duration such as "12h" or "30d"' });
    return NEVER;
  }),
);
/** What is told of an option: its meaning, and the flag of the commands where it is one. */
export type Description = {
  readonly help: string;
  readonly flag?: string;
  /** What stands for the flag's value in the help; a switch has none. */
  readonly value?: string;
};

/** An option with what is told of it. */
export const described = <S extends v.GenericSchema>(schema: S, help: string, flag?: string, value?: string) =>
  v.pipe(
    schema,
    v.metadata<v.InferOutput<S>, Description>({
      help,
      ...(flag && { flag }),
      ...(value && { value }),
    }),
  );
