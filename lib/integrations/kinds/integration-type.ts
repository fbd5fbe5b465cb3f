import type * as v from "valibot";
import type { DeliveryFormat } from "../../deliveries/delivery-format.ts";

/** A configuration as it is stored: `config` can be shown, `secrets` never; `events` are the names it subscribes to. */
export interface ParsedConfig {
  readonly name: string;
  readonly events: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** A type of integration. To add one, add a file here and a line to `integration-types.ts`. */
export interface IntegrationType {
  /** The rules of `config`. */
  readonly schema: v.ObjectSchema<v.ObjectEntries, undefined>;
  /** Takes a configuration that the schema accepted. */
  parse(config: unknown): ParsedConfig;
  /** The text that replaces each secret in responses. */
  redacted(secrets: Readonly<Record<string, string>>): Readonly<Record<string, unknown>>;
  /** The URL it sends to, with the field that a refusal names; undefined where it sends nothing. */
  target(
    parsed: Pick<ParsedConfig, "config" | "secrets">,
  ): { readonly field: string; readonly url: string } | undefined;
  /** How it sends events; undefined where it sends none. */
  readonly format: DeliveryFormat | undefined;
}

export const withoutNulls = <T>(fields: Readonly<Record<string, T>>): Record<string, NonNullable<T>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, value as NonNullable<T>]],
    ),
  );
