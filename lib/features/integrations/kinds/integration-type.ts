import type * as v from "valibot";
import type { DeliveryFormat } from "../../deliveries/delivery-format.ts";

/** A configuration as stored: `config` may be shown, `secrets` never; `events` are the subscribed event names. */
export interface ParsedConfig {
  readonly name: string;
  readonly events: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** A type of integration. To add one, add a file here and a line to `integration-types.ts`. */
export interface IntegrationType {
  readonly schema: v.ObjectSchema<v.ObjectEntries, undefined>;
  /** Parses a configuration that the schema has accepted. */
  parse(config: unknown): ParsedConfig;
  /** The text that replaces each secret in responses. */
  redacted(secrets: Readonly<Record<string, string>>): Readonly<Record<string, unknown>>;
  /** The URL to send to, and the name of its field for errors; undefined if the type sends nothing. */
  target(
    parsed: Pick<ParsedConfig, "config" | "secrets">,
  ): { readonly field: string; readonly url: string } | undefined;
  /** How to send events; undefined if the type sends none. */
  readonly format: DeliveryFormat | undefined;
}

export const withoutNulls = <T>(fields: Readonly<Record<string, T>>): Record<string, NonNullable<T>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, value as NonNullable<T>]],
    ),
  );
