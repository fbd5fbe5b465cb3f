import fc from "./fast-check.ts";
import { named } from "./json-schema.ts";
import { read } from "./openapi-document.ts";

/** Generates values that the schemas of the published document accept. */

type Json = Readonly<Record<string, unknown>>;
const document = read("flat");

/** Plausible values that a schema cannot express. With them a request is more likely to succeed. */
const words: Readonly<Record<string, readonly string[]>> = {
  project_id: ["@projects", "@projects", "@globex"],
  repo: ["acme/web", "acme/api"],
  branch: ["main", "fix/one"],
  tag: ["v1.0.0"],
  image_url: ["registry.test/web:1", `registry.test/web@sha256:${"a".repeat(64)}`],
  environment: ["production", "staging"],
  name: ["web", "production", "Ada"],
  token: ["@tokens", "tok_unknown"],
  model: ["any-model", "any-video", "image-draft"],
  resolution: ["32x32", "512"],
  email: ["ada@acme.test", "viewer@acme.test"],
  expires_at: ["2099-01-01T00:00:00Z"],
  from: ["2026-01-01", "2026-01-01T00:00:00Z"],
  to: ["2030-01-01", "2020-01-01"],
  events: ["deployment.queued", "*"],
  cursor: ["@cursors"],
  site: ["monitor.test"],
};

/** Generates values that a schema accepts. */
export function fitting(schema: Json, name = ""): fc.Arbitrary<unknown> {
  const {
    $ref,
    enum: choices,
    type,
    properties,
    items,
    anyOf,
    oneOf,
    format,
    pattern,
  } = schema as Json & {
    $ref?: string;
    enum?: unknown[];
    properties?: Record<string, Json>;
    required?: string[];
    items?: Json;
    anyOf?: Json[];
    oneOf?: Json[];
    pattern?: string;
  };
  if ($ref) return fitting(named($ref, document), name);
  if ("const" in schema) return fc.constant(schema["const"]);
  if (choices) return fc.constantFrom(...choices);
  const forms = anyOf ?? oneOf;
  if (forms) return fc.oneof(...forms.map((one) => fitting(one, name)));
  if (type === "boolean") return fc.boolean();
  if (type === "integer")
    return fc.integer({ min: (schema["minimum"] as number) ?? -9, max: (schema["maximum"] as number) ?? 9999 });
  if (type === "array") return fc.array(fitting(items ?? {}, name), { maxLength: 3 });
  if (type === "object") {
    const { additionalProperties, propertyNames, required = [] } = schema as { required?: string[] } & Json;
    const known = fc.record(
      Object.fromEntries(Object.entries(properties ?? {}).map(([key, part]) => [key, fitting(part, key)])),
      { requiredKeys: required as [] },
    );
    if (typeof additionalProperties !== "object" || !propertyNames) return known;
    return fc.dictionary(
      fitting(propertyNames as Json) as fc.Arbitrary<string>,
      fitting(additionalProperties as Json),
      { maxKeys: 3 },
    );
  }
  const known = words[name];
  if (known) return fc.constantFrom(...known);
  if (format === "date-time") return fc.constantFrom("2026-11-21T09:00:00.000Z", "2020-01-01T00:00:00Z");
  if (format === "uri") return fc.constantFrom("https://hook.inbox.test/", "https://other.test/in?x=1");
  if (pattern) return fc.stringMatching(new RegExp(pattern));
  const { minLength = 0, maxLength = 20 } = schema as { minLength?: number; maxLength?: number };
  return fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 20)), unit: "grapheme" });
}
