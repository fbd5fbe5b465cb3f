import { isSecretName, redact } from "../../lib/kernel/secrets/secret-redaction.ts";
import { hideValues, redaction } from "../../lib/kernel/secrets/secret-values.ts";
import { parseUrl } from "../../lib/kernel/text/url.ts";
import { isRecord } from "../output.ts";
import type { Json } from "./recorder.ts";

export const standIn = "recorded-secret";
/** Splits into words first, because one regular expression for addresses would take quadratic time. */
const withoutAddresses = (text: string, shown: (person: string) => string): string =>
  text.replace(/[\w.+@-]+(?:'[\w.+@-]+)*/g, (word) => {
    const end = word.endsWith(".") ? "." : "";
    const person = word.slice(0, word.length - end.length);
    const [local, host = ""] = person.split("@");
    return local && host.includes(".") ? shown(person) + end : word;
  });

export type Cleaner = ReturnType<typeof createCleaner>;

/** Replaces secrets and email addresses. `people` maps addresses to replacements; without it, addresses stay. */
export function createCleaner(secrets: readonly string[], people: ReadonlyMap<string, string> | undefined) {
  const hide = hideValues(secrets);
  const without = (value: string, shown: (person: string) => string) =>
    people ? withoutAddresses(redact(hide(value)), shown) : redact(hide(value));
  const text = (value: string): string =>
    without(value, (person) => people?.get(person.toLowerCase()) ?? "person@recorded.test");
  /** Keeps only the host of a URL, because chat webhooks have a token in their path. */
  const url = (value: string): string => `https://${parseUrl(value)?.host || "unknown.inbox.test"}/recorded`;
  const isUrl = (value: string) => /^https?:\/\//i.test(value);

  const setting = (name: string, value: unknown): unknown => {
    if (name === "headers" && isRecord(value))
      return Object.fromEntries(Object.keys(value).map((header) => [header, standIn]));
    if (isSecretName(name)) return value === null ? null : standIn;
    if (Array.isArray(value)) return value.map((one) => setting("", one));
    return typeof value !== "string" ? value : isUrl(value) ? url(value) : text(value);
  };

  /** An environment variable. A secret variable keeps only its name, as does one with a secret-sounding name. */
  const variable = (name: string, value: unknown): unknown =>
    typeof value === "string" && !isSecretName(name) ? text(value) : { value: standIn, secret: true };

  return {
    text,
    url,
    variable,
    environment: ({ variables, ...more }: Json): Json => ({
      ...more,
      variables: Object.fromEntries(
        Object.entries(Object(variables)).map(([name, one]) => [name, variable(name, one)]),
      ),
    }),
    /** An integration's configuration. It drops project_id, because ids of the real service are invalid elsewhere. */
    config: ({ project_id: _, ...config }: Json): Json =>
      Object.fromEntries(Object.entries(config).map(([name, value]) => [name, setting(name, value)])),
    /** A glob that matches the original text, with `*` for removed parts. */
    glob: (value: string): string => without(value, () => "*").replaceAll(redaction, "*"),
  };
}
