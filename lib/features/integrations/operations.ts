import { operationsOf } from "../../kernel/operation.ts";
import { pageQuery } from "../../kernel/validation.ts";
import { integration, integrationChanges, integrationItem, newIntegration } from "./schema.ts";
import type { IntegrationsService } from "./service.ts";

const operation = operationsOf<{ integrations: IntegrationsService }>();

export const integrationsOperations = [
  operation({
    id: "integrations.create",
    summary: "Create an integration",
    description:
      "Connects a code host, a chat tool, a monitoring provider or an HTTPS endpoint. The configuration is checked first and nothing is stored if it is invalid. Secret values are encrypted and are redacted in every response. `monitoring` needs the plan `pro` or `enterprise`. An organization can have 100 integrations.",
    route: "POST /integrations",
    needs: "integrations:write",
    answers: "created",
    specified: true,
    body: newIntegration,
    result: integration,
    problems: ["limit_reached", "plan_required"],
    permit: (body, { integrations }, caller) => integrations.requirePlan(caller, body),
    run: ({ body }, { integrations }, caller) => integrations.create(caller, body),
  }),
  operation({
    id: "integrations.list",
    summary: "List integrations",
    description:
      "Lists the integrations without their `config`: all of them, or one page if `per_page` or `cursor` is given.",
    route: "GET /integrations",
    needs: "integrations:read",
    answers: "list",
    specified: true,
    query: pageQuery,
    result: integrationItem,
    run: ({ query }, { integrations }, caller) => integrations.list(caller, query),
  }),
  operation({
    id: "integrations.delete",
    summary: "Delete an integration",
    description:
      "Deletes the integration with its deliveries. Nothing more is sent to the external service, and pushes from it are no longer accepted.",
    route: "DELETE /integrations/{id}",
    needs: "integrations:write",
    answers: "empty",
    specified: true,
    run: ({ params }, { integrations }, caller) => integrations.remove(caller, params.id),
  }),
  operation({
    id: "integrations.get",
    summary: "Get an integration",
    description: "Returns one integration with its `config`. Secret values are redacted.",
    route: "GET /integrations/{id}",
    needs: "integrations:read",
    answers: "object",
    specified: true,
    result: integration,
    run: ({ params }, { integrations }, caller) => integrations.get(caller, params.id),
  }),
  operation({
    id: "integrations.update",
    summary: "Update an integration",
    description:
      "Changes the configuration or the status. Fields that are left out of `config` keep their values, null removes a field, and a redacted value sent back keeps the stored secret. `status: active` turns the integration on again; events that were skipped while it was inactive are sent only by `recover`.",
    route: "PATCH /integrations/{id}",
    needs: "integrations:write",
    answers: "object",
    body: integrationChanges,
    result: integration,
    problems: ["plan_required"],
    run: ({ params, body }, { integrations }, caller) => integrations.update(caller, params.id, body),
  }),
];
