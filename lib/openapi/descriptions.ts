import type { Json } from "./json-schema.ts";

/** The general part of the OpenAPI document. */
export const info = {
  title: "Deployment and generation service",
  summary: "Projects, deployments, people, integrations, webhooks and generations.",
  description:
    "Every answer carries `X-Request-Id` and, where it is JSON, the same in `meta.request_id`. Lists are paged by `per_page` and `cursor`. Fields and query parameters that are not known are ignored. What is marked `x-addition` is this implementation's own.",
  license: { name: "MIT", identifier: "MIT" },
};

const tags: Readonly<Record<string, string>> = {
  projects: "The top-level containers of deployments, environments and integrations.",
  deployments: "An application on its way into an environment of a project, and its log.",
  users: "The members of the organization.",
  invitations: "People who are asked to join.",
  integrations: "External tools that are told of events, or that cause deployments.",
  webhooks: "HTTPS endpoints that are told of events.",
  generations: "Models that run asynchronously and make images and films.",
  events: "What happened.",
  keys: "The API keys of the organization's members.",
  organization: "The organization of the key: its name and plan.",
  environments: "The named targets of a project, each with variables.",
  me: "Whose key this is.",
  openapi: "This document.",
};

/** The features that have operations, in their order, each with its description. */
export const tagsOf = (names: readonly string[]) =>
  [...new Set(names)].map((name) => ({ name, description: tags[name] ?? `The operations on ${name}.` }));

const integer = { type: "integer", minimum: 0 };
const text = { type: "string" };

export const headers: Readonly<Record<string, Json>> = {
  "X-Request-Id": {
    description: "To be quoted when asking for support; the caller's own, where it sent one.",
    schema: text,
  },
  "X-RateLimit-Limit": { description: "Requests allowed in the window.", schema: integer },
  "X-RateLimit-Remaining": { description: "Requests left in the window.", schema: integer },
  "X-RateLimit-Reset": { description: "When the window ends, as a Unix timestamp in seconds.", schema: integer },
  "Retry-After": { description: "How many seconds to wait before trying again.", schema: integer },
  Location: { description: "Where the made record can be read.", schema: text },
  "WWW-Authenticate": { description: "`Bearer`.", schema: text },
  "Idempotent-Replayed": {
    description: "`true` where the answer is that of the first request of its key.",
    schema: text,
  },
};

export const parameters: Readonly<Record<string, Json>> = {
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    description: "An identifier of your own for this request. Another form is passed over.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._-]{1,128}$" },
    example: "checkout-42",
  },
  LastEventId: {
    name: "Last-Event-ID",
    in: "header",
    description: "The last item that the caller has of a stream: it goes on behind it.",
    schema: { type: "string" },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description: "For 24 hours the same key and body give the first answer again, and nothing is done twice.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
    example: "6f1c1c1e-deploy-web",
  },
};

const object = (properties: Json) => ({ type: "object", required: Object.keys(properties), properties });
const base = { request_id: text, timestamp: { type: "string", format: "date-time" } };
const cursor = { anyOf: [text, { type: "null" }], description: "The `cursor` of the next page; null on the last one." };
const perPage = { ...integer, description: "How many items a page holds." };

/** The schemas around records, in each envelope. */
export const metas = {
  flat: {
    Meta: object(base),
    ListMeta: object({ ...base, per_page: perPage, next_cursor: cursor }),
  },
  full: {
    Meta: object(base),
    Pagination: object({
      total: { ...integer, description: "How many items the whole list has." },
      page: { type: "integer", minimum: 1, description: "Counted along the cursors." },
      per_page: perPage,
      next_cursor: cursor,
    }),
  },
} as const;

/** The schema of every problem. */
export const problem = (codes: readonly string[]) =>
  object({
    error: {
      ...object({ code: { type: "string", enum: codes }, message: text }),
      properties: {
        code: { type: "string", enum: codes },
        message: { type: "string", description: "What is wrong, and what would be right." },
        details: {
          type: "array",
          description: "Every broken rule; for `validation_failed` only.",
          items: object({ path: { type: "string", description: "Dotted: `source.repo`, `events.0`." }, message: text }),
        },
      },
    },
    meta: { $ref: "#/components/schemas/Meta" },
  });
