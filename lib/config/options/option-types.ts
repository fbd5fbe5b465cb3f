import * as v from "valibot";
import { parseByteSize } from "../../kernel/byte-size.ts";
import { parseDuration } from "../../kernel/duration.ts";
import { wholeNumber } from "../../kernel/validation.ts";

/** A whole number of at least one. */
export const positive = (most = 1_000_000_000) => wholeNumber(1, most);

/** A whole number, or 0 for none. */
export const limit = () => wholeNumber(0, 1_000_000_000);

/** A text such as `"30d"`, parsed to milliseconds. */
export const duration = v.pipe(
  v.string("must be a string"),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const ms = parseDuration(dataset.value);
    if (ms !== undefined && ms > 0) return ms;
    addIssue({ message: 'must be a duration such as "12h" or "30d"' });
    return NEVER;
  }),
);

/** A text such as `"2GiB"`, parsed to bytes. */
export const byteSize = v.pipe(
  v.string("must be a string"),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const bytes = parseByteSize(dataset.value);
    if (bytes !== undefined && bytes >= 1024 ** 2) return bytes;
    addIssue({ message: 'must be a size of at least 1MiB, such as "512MiB" or "2GiB"' });
    return NEVER;
  }),
);

/** The documentation of an option. `--help`, shell completion and the options page are made from it. */
export type OptionHelp = {
  /** Its meaning, in one or two sentences. */
  readonly help: string;
  /** A value as code, if the default is missing or shows little. Editors show it. */
  readonly example?: string;
  /** The flag of the commands that sets it, without the dashes. */
  readonly flag?: string;
  /** The placeholder for the flag's value in the help; a switch has none. */
  readonly value?: string;
  /** The only mode that has it. */
  readonly mode?: "dev" | "start";
  /** The options below an option that is a switch too. */
  readonly below?: v.ObjectEntries;
};

/** A schema with the documentation of its option. */
export const option = <S extends v.GenericSchema>(schema: S, help: OptionHelp) =>
  v.pipe(schema, v.metadata<v.InferOutput<S>, OptionHelp>(help));

/** `true`, `false`, or an object of options that also means `true`; it is parsed to `false` or the options. */
export const switchOr = <E extends v.ObjectEntries>(below: v.StrictObjectSchema<E, undefined>, help: OptionHelp) => {
  type Given = boolean | v.InferInput<typeof below>;
  type Parsed = false | v.InferOutput<typeof below>;
  const schema = v.lazy(
    (given): v.GenericSchema<Given, boolean | v.InferOutput<typeof below>> =>
      typeof given === "object" ? below : v.boolean("must be true, false or an object of options"),
  );
  const parsed = v.transform(
    (given: v.InferOutput<typeof schema>): Parsed =>
      typeof given === "object" || !given ? (given as Parsed) : v.parse(below, {}),
  );
  return v.pipe(schema, parsed, v.metadata<Parsed, OptionHelp>({ ...help, below: below.entries }));
};
