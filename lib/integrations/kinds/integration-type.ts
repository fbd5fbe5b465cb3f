import type * as v from "valibot";
import type { Kind } from "../../endpoints/endpoint-kind.ts";

/** A configuration taken apart: what can be shown, what never, and which events it wants. */
export interface Parts {
  readonly name: string;
  readonly events: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** A type of integration, whole: adding one is adding a file like those beside this. */
export interface IntegrationType {
  /** The rules of `config`. */
  readonly schema: v.ObjectSchema<v.ObjectEntries, undefined>;
  /** Takes a configuration apart that the schema has let through. */
  parts(config: unknown): Parts;
  /** What stands for each secret in every response. */
  redacted(secrets: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
  /** Where it sends to, so that the address can be judged at creation; undefined where it sends nothing. */
  url(parts: Pick<Parts, "config" | "secrets">): { readonly field: string; readonly url: string } | undefined;
  /** How events are sent; undefined where none are. */
  readonly kind: Kind | undefined;
}

/** "`[redacted]`, or for URLs the path: `https://host/[redacted]`." */
export const hidden = "[redacted]";

/** Leaves out what was not given. */
export const given = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
