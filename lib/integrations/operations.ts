import { operationsOf } from "../kernel/operation.ts";
import { byId } from "../kernel/validation.ts";
import { integration, integrationChanges, integrationItem, integrationsQuery, newIntegration } from "./schema.ts";
import type { IntegrationsService } from "./service.ts";

const operation = operationsOf<{ integrations: IntegrationsService }>();

/** SPEC "Endpoints", integrations; `update` is CONTRACT section 9. */
export const integrationsOperations = [
  operation({
    id: "integrations.create",
    summary: "Connect an external tool",
    method: "POST",
    path: "/integrations",
    needs: "integrations:write",
    answers: "created",
    body: newIntegration,
    result: integration,
    problems: ["limit_reached", "plan_required"],
    run: ({ body }, { integrations }, caller) => integrations.create(caller, body),
  }),
  operation({
    id: "integrations.list",
    summary: "List the integrations",
    method: "GET",
    path: "/integrations",
    needs: "integrations:read",
    answers: "list",
    query: integrationsQuery,
    result: integrationItem,
    problems: [],
    run: ({ query }, { integrations }, caller) => integrations.list(caller, query),
  }),
  operation({
    id: "integrations.delete",
    summary: "Delete an integration; what is pending stops at once",
    method: "DELETE",
    path: "/integrations/{id}",
    needs: "integrations:write",
    answers: "empty",
    params: byId,
    problems: ["not_found"],
    run: ({ params }, { integrations }, caller) => integrations.remove(caller, params.id),
  }),
  operation({
    id: "integrations.get",
    summary: "Get an integration",
    method: "GET",
    path: "/integrations/{id}",
    needs: "integrations:read",
    answers: "object",
    params: byId,
    result: integration,
    problems: ["not_found"],
    run: ({ params }, { integrations }, caller) => integrations.get(caller, params.id),
  }),
  operation({
    id: "integrations.update",
    summary: "Change an integration, or turn it on again",
    method: "PATCH",
    path: "/integrations/{id}",
    needs: "integrations:write",
    answers: "object",
    addition: true,
    params: byId,
    body: integrationChanges,
    result: integration,
    problems: ["not_found", "plan_required"],
    run: ({ params, body }, { integrations }, caller) => integrations.update(caller, params.id, body),
  }),
];
