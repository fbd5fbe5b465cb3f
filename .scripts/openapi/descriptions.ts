import type { Json } from "../../lib/composition/openapi/json-schema.ts";
import type { EventName } from "../../lib/features/events/catalog.ts";
import type { Answers } from "../../lib/kernel/operation.ts";

/** The general part of the OpenAPI document. */
export const info = {
  title: "Deployment and generation service",
  summary: "Projects, deployments, people, integrations, webhooks and generations.",
  description:
    "Every response has the header `X-Request-Id`; a JSON response repeats it in `meta.request_id`. Lists are paged by `per_page` and `cursor`. Unknown fields and query parameters are ignored. Operations and parameters marked `x-addition` are additions of this implementation.",
  contact: { name: "The operator of this service" },
  license: { name: "MIT", identifier: "MIT" },
};

const tags: Readonly<Record<string, string>> = {
  projects: "The top-level containers of deployments, environments and integrations.",
  deployments: "Deployments of an application into an environment of a project, with their logs.",
  users: "The members of the organization.",
  invitations: "Invitations to join the organization.",
  integrations: "External tools that receive events or start deployments.",
  webhooks: "HTTPS endpoints that receive events.",
  generations: "Asynchronous model runs that produce images and videos.",
  events: "The events of the organization.",
  keys: "The API keys of the organization's members.",
  organization: "The organization of the API key: its name and plan.",
  "audit-log": "Who changed what in the organization, and the refused sign-ins.",
  environments: "The named deployment targets of a project, with their variables.",
  me: "The caller of a request.",
  openapi: "This document.",
};

/** The features with operations, in order, each with its description. */
export const tagsOf = (names: readonly string[]) =>
  [...new Set(names)].map((name) => ({ name, description: tags[name] ?? `The operations on ${name}.` }));

/** The description of a successful response, by its kind. */
export const answered: Readonly<Record<Answers, string>> = {
  created: "The created record; `Location` is its path.",
  object: "The record.",
  accepted: "Accepted: the work is queued.",
  list: "The list.",
  stream: "The list, or a stream of Server-Sent Events.",
  socket: "The connection becomes a WebSocket.",
  empty: "Deleted; the response has no body.",
  document: "The document.",
};

/** When each event is sent. */
export const occasions: Readonly<Record<EventName, string>> = {
  "deployment.queued": "A deployment was created: by a caller, by a push to the code host, or by a rollback.",
  "deployment.started": "The build of a queued deployment began.",
  "deployment.succeeded": "A deployment became `active`.",
  "deployment.failed": "A deployment ended as `failed`; `reason` is the error.",
  "deployment.rolled_back":
    "A rollback was requested for a deployment (`reason` is `manual`), or its health check failed and the previous release stays live (`health_check`).",
  "generation.completed": "A generation has finished, and its file can be downloaded.",
  "generation.failed": "A generation has failed, or somebody cancelled it: then the code of `error` is `cancelled`.",
  "app.crashed":
    "A process of an app ended by itself, and starts again: the first time in a release, and each tenth time within an hour.",
  "schedule.failed": "A run of a schedule failed; `reason` is the error, and `exit_code` null where it has none.",
  "project.created": "A project was created.",
  "project.deleted": "A project was permanently deleted.",
  "user.invited": "An invitation was sent.",
  "user.removed": "A member was removed from the organization.",
};

const integer = { type: "integer", minimum: 0 };
const text = { type: "string" };

export const headers: Readonly<Record<string, Json>> = {
  "X-Request-Id": {
    description: "The identifier of the request, for support; the caller's own identifier if it sent one.",
    schema: text,
  },
  "X-RateLimit-Limit": { description: "Requests allowed in the window.", schema: integer },
  "X-RateLimit-Remaining": { description: "Requests left in the window.", schema: integer },
  "X-RateLimit-Reset": { description: "The end of the window, as a Unix timestamp in seconds.", schema: integer },
  "Retry-After": { description: "The number of seconds to wait before the next attempt.", schema: integer },
  Location: { description: "The path of the created record.", schema: text },
  "WWW-Authenticate": { description: "`Bearer`.", schema: text },
  "Idempotent-Replayed": {
    description: "`true` if this response repeats the response to the first request with this idempotency key.",
    schema: text,
  },
};

export const parameters: Readonly<Record<string, Json>> = {
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    description: "The caller's own identifier for this request. An invalid one is ignored.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._-]{1,128}$" },
    example: "checkout-42",
  },
  LastEventId: {
    name: "Last-Event-ID",
    in: "header",
    description: "The identifier of the last item that was received from a stream, which continues after it.",
    schema: { type: "string" },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "For 24 hours, a request with the same key and body repeats the first response, and the operation runs only once.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
    example: "6f1c1c1e-deploy-web",
  },
};

const object = (properties: Json) => ({ type: "object", required: Object.keys(properties), properties });
const base = { request_id: text, timestamp: { type: "string", format: "date-time" } };
const cursor = {
  anyOf: [text, { type: "null" }],
  description: "The `cursor` of the next page; null on the last page.",
};
const perPage = { ...integer, description: "The number of items on a page." };

/** The schemas of `meta` and its pagination, in each envelope. */
export const metas = {
  flat: {
    Meta: object(base),
    ListMeta: object({ ...base, per_page: perPage, next_cursor: cursor }),
  },
  full: {
    Meta: object(base),
    Pagination: object({
      total: { ...integer, description: "The number of items in the whole list." },
      page: { type: "integer", minimum: 1, description: "The number of this page, from 1." },
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
        message: { type: "string", description: "What is wrong and how to correct it." },
        details: {
          type: "array",
          description: "Every broken rule, for `validation_failed` only.",
          items: object({
            path: { type: "string", description: "The path of the field: `source.repo`, `events.0`." },
            message: text,
          }),
        },
      },
    },
    meta: { $ref: "#/components/schemas/Meta" },
  });
