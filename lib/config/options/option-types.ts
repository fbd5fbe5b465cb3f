import * as v from "valibot";
import { parseHttpUrl } from "../../drivers/outbound/target.ts";
import { parseByteSize } from "../../kernel/text/byte-size.ts";
import { parseDuration } from "../../kernel/text/duration.ts";
import { pathOf } from "../../kernel/text/paths.ts";
import { textLike, textOf, wholeNumber } from "../../kernel/validation.ts";

export const positive = (max = 1_000_000_000) => wholeNumber(1, max);

/** A whole number; 0 means no limit. */
export const limit = () => wholeNumber(0, 1_000_000_000);

/** The path of a file or folder. `~/x` and `file:x` are parsed to plain paths. */
export const path = v.pipe(textOf(1, 4096), v.transform(pathOf));

export const checkedText = (isRight: (text: string) => boolean, rule: string) =>
  v.pipe(v.string("must be a string"), v.check(isRight, rule));

/** `parse` returns undefined for a wrong text. */
export const parsedText = <T>(parse: (text: string) => T | undefined, rule: string) =>
  v.pipe(
    v.string("must be a string"),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const parsed = parse(dataset.value);
      if (parsed !== undefined) return parsed;
      addIssue({ message: rule });
      return NEVER;
    }),
  );

/** A token, a key or the like; `what` names it. */
export const visibleText = (what: string) =>
  textLike(4096, /^[\x21-\x7e]+$/, `must be ${what} of visible ASCII characters`);

/** The http or https URL in a text, if it has no credentials, no query and no fragment. */
export function plainUrl(text: string): URL | undefined {
  const url = parseHttpUrl(text);
  return url?.search === "" && url.hash === "" ? url : undefined;
}

/** An object with some functions. `names` lists them for the rule: `delay, submit and poll`. */
export const withFunctions = <T>(names: string) =>
  v.custom<T>(
    (value) => names.split(/, | and /).every((name) => typeof Object(value)[name] === "function"),
    `must have the functions ${names}`,
  );

/** A text such as `"30d"`, parsed to milliseconds. */
export const duration = parsedText(
  (text) => parseDuration(text) || undefined,
  'must be a duration such as "12h" or "30d"',
);

/** A text such as `"2GiB"`, parsed to bytes. */
export const byteSize = parsedText((text) => {
  const bytes = parseByteSize(text);
  return bytes !== undefined && bytes >= 1024 ** 2 ? bytes : undefined;
}, 'must be a size of at least 1MiB, such as "512MiB" or "2GiB"');

/** The documentation of an option: the source of `--help`, shell completion and the options page. */
export type OptionHelp = {
  /** Its meaning, in one or two sentences. */
  readonly help: string;
  /** A value as code, for options without a default, or whose default explains little. Editors show it. */
  readonly example?: string;
  /** The command-line flag that sets it, without the dashes. */
  readonly flag?: string;
  /** The placeholder for the flag's value in the help. A switch has none. */
  readonly value?: string;
  readonly mode?: "dev" | "start";
  readonly below?: v.ObjectEntries;
};

/** A required option of a group: its schema with its documentation. */
export const requiredOption = <S extends v.GenericSchema>(schema: S, help: OptionHelp) =>
  v.pipe(schema, v.metadata<v.InferOutput<S>, OptionHelp>(help));

type Documented<S extends v.GenericSchema> = ReturnType<typeof requiredOption<S>>;

/** An option that may be left out. It has the default then, or is undefined. */
export function option<S extends v.GenericSchema, const D extends v.InferInput<S>>(
  schema: S,
  about: OptionHelp & { readonly default: D },
): v.OptionalSchema<Documented<S>, D>;
export function option<S extends v.GenericSchema>(
  schema: S,
  about: OptionHelp,
): v.OptionalSchema<Documented<S>, undefined>;
export function option<S extends v.GenericSchema>(
  schema: S,
  { default: fallback, ...help }: OptionHelp & { readonly default?: v.InferInput<S> },
): v.GenericSchema {
  return v.optional(requiredOption(schema, help), fallback);
}

/** A group of options, which may be left out as a whole. */
export const group = <const E extends v.ObjectEntries>(options: E) => v.optional(v.strictObject(options), {} as never);

/**
 * A switch that takes `true` (the default), `false`, or an object of options, which also means `true`. Parsed to `false`
 * or the options.
 */
export const switchOr = <const E extends v.ObjectEntries>(options: E, help: OptionHelp) => {
  const below = v.strictObject(options);
  type Options = v.InferOutput<typeof below>;
  const schema = v.lazy(
    (given): v.GenericSchema<boolean | v.InferInput<typeof below>, boolean | Options> =>
      typeof given === "object" ? below : v.boolean("must be true, false or an object of options"),
  );
  const parsed = v.transform((given: boolean | Options): false | Options =>
    given === true ? v.parse(below, {}) : given,
  );
  const about = v.metadata<false | Options, OptionHelp>({ ...help, below: options });
  return v.optional(v.pipe(schema, parsed, about), true);
};
