import { operationsOf } from "../../kernel/operation.ts";
import { pageQuery } from "../../kernel/validation.ts";
import { newWebhook, webhook, webhookChanges } from "./schema.ts";
import type { WebhooksService } from "./service.ts";

const operation = operationsOf<{ webhooks: WebhooksService }>();

export const webhooksOperations = [
  operation({
    id: "webhooks.create",
    summary: "Create a webhook",
    description:
      "Registers an HTTPS endpoint for the events named in `events`, or for all with `*`. A service that is not in development mode refuses a URL that leads to a private address. With a `secret`, every payload is signed in the header `X-Service-Signature`; the secret is never returned. `headers` (at most 10) go with every attempt; their values are encrypted and shown as `[redacted]`. An organization can have 100 webhooks.",
    route: "POST /webhooks",
    needs: "webhooks:write",
    answers: "created",
    specified: true,
    body: newWebhook,
    result: webhook,
    problems: ["limit_reached"],
    run: ({ body }, { webhooks }, caller) => webhooks.create(caller, body),
  }),
  operation({
    id: "webhooks.list",
    summary: "List webhooks",
    description:
      "Lists the webhooks: all of them, or one page if `per_page` or `cursor` is given. Secrets are never returned.",
    route: "GET /webhooks",
    needs: "webhooks:read",
    answers: "list",
    specified: true,
    query: pageQuery,
    result: webhook,
    run: ({ query }, { webhooks }, caller) => webhooks.list(caller, query),
  }),
  operation({
    id: "webhooks.delete",
    summary: "Delete a webhook",
    description: "Deletes the webhook with its deliveries. Pending deliveries are not sent.",
    route: "DELETE /webhooks/{id}",
    needs: "webhooks:write",
    answers: "empty",
    specified: true,
    run: ({ params }, { webhooks }, caller) => webhooks.remove(caller, params.id),
  }),
  operation({
    id: "webhooks.get",
    summary: "Get a webhook",
    description:
      "Returns one webhook, without its secret. The status is `inactive` after a delivery was abandoned or the webhook was turned off.",
    route: "GET /webhooks/{id}",
    needs: "webhooks:read",
    answers: "object",
    result: webhook,
    run: ({ params }, { webhooks }, caller) => webhooks.get(caller, params.id),
  }),
  operation({
    id: "webhooks.update",
    summary: "Update a webhook",
    description:
      "Changes the fields that are given. `status: active` turns the webhook on again; events that were skipped while it was inactive are sent only by `recover`. A new `secret` signs every attempt from then on, retries as well; with `keep_previous_for` (at most `7d`) the previous secret signs too for that time, in the header `X-Service-Signature-Previous`. `headers` replaces all of them: a value `[redacted]` keeps the stored one, unless the URL has another origin now.",
    route: "PATCH /webhooks/{id}",
    needs: "webhooks:write",
    answers: "object",
    body: webhookChanges,
    result: webhook,
    run: ({ params, body }, { webhooks }, caller) => webhooks.update(caller, params.id, body),
  }),
];
