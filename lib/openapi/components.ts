import * as v from "valibot";
import { catalog } from "../events/catalog.ts";
import type { Operation } from "../kernel/operation.ts";
import { exampleOf } from "./examples.ts";
import { type Json, jsonSchema } from "./json-schema.ts";

/** The parameters of an operation's path and query. */
export function queryParameters({ path, query }: Operation): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    description: name === "id" || name === "dlv" ? "The identifier, as it was answered." : "The name.",
    schema: { type: "string" },
  }));
  const { entries = {} } = (query ?? {}) as { entries?: Record<string, v.GenericSchema> };
  const inQuery = Object.entries(entries).map(([name, entry]) => {
    const inner = (entry as { wrapped?: v.GenericSchema }).wrapped;
    const description = v.getDescription(inner ?? entry);
    return {
      name,
      in: "query",
      ...(!inner && { required: true }),
      ...(description && { description }),
      schema: jsonSchema(inner ?? entry),
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
  header("X-Service-Delivery", "The same over all tries: deduplicate by it.", "dlv_01KAJK2M00D0VXXXX000000000"),
  header("X-Service-Attempt", "Which try this is, from 1.", "1"),
  header(
    "X-Service-Signature",
    "`sha256=` and the HMAC-SHA256 of the raw body in hex, where the webhook has a secret.",
    "sha256=5f0c0f…",
    false,
  ),
];

/** The requests to webhooks, one for each event. */
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
        summary: `The event ${event} happened`,
        tags: ["events"],
        security: [],
        parameters: delivered(event),
        requestBody: { content: { "application/json": { schema, example: exampleOf(schema, {}) } } },
        responses: {
          "2XX": { description: "Acknowledged." },
          default: { description: "Anything else within 10 seconds, or nothing: it is tried again." },
        },
      };
      return [event, { post }];
    }),
  );
