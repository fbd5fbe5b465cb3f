import type * as v from "valibot";
import { type Json, jsonSchema } from "../../lib/composition/openapi/json-schema.ts";
import { catalog, type EventName } from "../../lib/features/events/catalog.ts";
import type { Operation } from "../../lib/kernel/operation.ts";
import { occasions } from "./descriptions.ts";
import { exampleOf } from "./examples.ts";
import { pathExample } from "./id-prefixes.ts";

const nouns: Readonly<Record<string, string>> = { deliveries: "delivery", "api-keys": "API key" };
/** `/projects/{id}` → `project`. */
function nounOf(path: string, parameter: string): string {
  const [, collection = ""] = new RegExp(`([\\w-]+)/\\{${parameter}\\}`).exec(path) ?? [];
  return nouns[collection] ?? collection.replace(/s$/, "");
}

/** Query parameters that are additions of this implementation, in whichever operation. */
const additions = ["wait", "follow"];

const entriesOf = (schema: Operation["query"]) =>
  (schema as { readonly entries?: Readonly<Record<string, v.GenericSchema>> } | undefined)?.entries ?? {};

/** The path parameters of a repository, which has no identifier. */
const ofRepository: Readonly<Record<string, string>> = {
  owner: "The owner of the repository: the part of its name before the `/`.",
  name: "The name of the repository: the part after the `/`.",
};

/** The path and query parameters of an operation. */
export function queryParameters({ path, query }: Operation): Json[] {
  const described = path.startsWith("/repositories/") ? ofRepository : {};
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    description: described[name] ?? `The ${name === "name" ? "name" : "identifier"} of the ${nounOf(path, name)}.`,
    schema: { type: "string" },
    example: pathExample(path, name),
  }));
  const entries = entriesOf(query);
  const inQuery = Object.entries(entries).map(([name, entry]) => {
    const inner = (entry as { wrapped?: v.GenericSchema }).wrapped;
    const { description, ...schema } = jsonSchema(inner ?? entry);
    return {
      name,
      in: "query",
      ...(!inner && { required: true }),
      ...(description !== undefined && { description }),
      ...(additions.includes(name) && { "x-addition": true }),
      schema,
    };
  });
  return [...inPath, ...inQuery];
}

const header = (name: string, description: string, example: string, required = true) => ({
  name,
  in: "header",
  required,
  description,
  schema: { type: "string" },
  example,
});

const delivered = (event: string) => [
  header("X-Service-Event", "The event's name.", event),
  header(
    "X-Service-Delivery",
    "The same for all attempts: use it to detect duplicates.",
    "dlv_01KAJK2M00D0VXXXX000000000",
  ),
  header("X-Service-Attempt", "The number of the attempt, from 1.", "1"),
  header(
    "X-Service-Signature",
    "`sha256=` and the HMAC-SHA256 of the raw body in hex, where the webhook has a secret.",
    "sha256=5f0c0f…",
    false,
  ),
];

/** The webhook requests, one for each event. */
export const webhooks = (): Json =>
  Object.fromEntries(
    Object.entries(catalog).map(([event, data]) => {
      const schema = {
        type: "object",
        required: ["event", "timestamp", "data"],
        properties: {
          event: { type: "string", const: event },
          timestamp: { type: "string", format: "date-time", description: "When the event happened." },
          data: jsonSchema(data),
        },
      };
      const post = {
        operationId: `on.${event}`,
        summary: `Receive the event ${event}`,
        description: `${occasions[event as EventName]} Acknowledge within 10 seconds with any 2xx status, and expect duplicates: a delivery is made at least once.`,
        tags: ["events"],
        security: [],
        parameters: delivered(event),
        requestBody: { content: { "application/json": { schema, example: exampleOf(schema, {}) } } },
        responses: {
          "200": { description: "Received. Every 2xx status acknowledges the delivery." },
          default: { description: "Not received: the delivery is retried, as it is without a response within 10 s." },
        },
      };
      return [event, { post }];
    }),
  );
