import { operationsOf } from "../kernel/operation.ts";
import { byId } from "../kernel/validation.ts";
import { newWebhook, webhook, webhookChanges, webhooksQuery } from "./schema.ts";
import type { WebhooksService } from "./service.ts";

const operation = operationsOf<{ webhooks: WebhooksService }>();

/** SPEC "Endpoints", webhooks; `get` and `update` of a webhook are CONTRACT section 9. */
export const webhooksOperations = [
  operation({
    id: "webhooks.create",
    summary: "Register an HTTPS endpoint for events",
    method: "POST",
    path: "/webhooks",
    needs: "webhooks:write",
    answers: "created",
    body: newWebhook,
    result: webhook,
    problems: ["limit_reached"],
    run: ({ body }, { webhooks }, caller) => webhooks.create(caller, body),
  }),
  operation({
    id: "webhooks.list",
    summary: "List the webhooks",
    method: "GET",
    path: "/webhooks",
    needs: "webhooks:read",
    answers: "list",
    query: webhooksQuery,
    result: webhook,
    problems: [],
    run: ({ query }, { webhooks }, caller) => webhooks.list(caller, query),
  }),
  operation({
    id: "webhooks.delete",
    summary: "Delete a webhook; what is pending stops at once",
    method: "DELETE",
    path: "/webhooks/{id}",
    needs: "webhooks:write",
    answers: "empty",
    params: byId,
    problems: ["not_found"],
    run: ({ params }, { webhooks }, caller) => webhooks.remove(caller, params.id),
  }),
  operation({
    id: "webhooks.get",
    summary: "Get a webhook",
    method: "GET",
    path: "/webhooks/{id}",
    needs: "webhooks:read",
    answers: "object",
    addition: true,
    params: byId,
    result: webhook,
    problems: ["not_found"],
    run: ({ params }, { webhooks }, caller) => webhooks.get(caller, params.id),
  }),
  operation({
    id: "webhooks.update",
    summary: "Change a webhook, or turn it on again",
    method: "PATCH",
    path: "/webhooks/{id}",
    needs: "webhooks:write",
    answers: "object",
    addition: true,
    params: byId,
    body: webhookChanges,
    result: webhook,
    problems: ["not_found"],
    run: ({ params, body }, { webhooks }, caller) => webhooks.update(caller, params.id, body),
  }),
];
