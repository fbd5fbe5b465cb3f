import { operationsOf } from "../kernel/operation.ts";
import { awaitable, byId } from "../kernel/validation.ts";
import { deployment, deploymentItem, deploymentsQuery, logEntry, logsQuery, newDeployment } from "./schema.ts";
import type { DeploymentsService } from "./service.ts";

const operation = operationsOf<{ deployments: DeploymentsService }>();

/** SPEC "Endpoints", deployments. */
export const deploymentsOperations = [
  operation({
    id: "deployments.list",
    summary: "List the deployments, newest first, without their sources",
    method: "GET",
    path: "/deployments",
    needs: "deployments:read",
    answers: "list",
    query: deploymentsQuery,
    result: deploymentItem,
    problems: [],
    run: ({ query }, { deployments }, caller) => deployments.list(caller, query),
  }),
  operation({
    id: "deployments.create",
    summary: "Deploy a Git repository or a container image into an environment",
    method: "POST",
    path: "/deployments",
    needs: "deployments:write",
    answers: "created",
    body: newDeployment,
    result: deployment,
    problems: ["not_found", "project_archived"],
    run: ({ body }, { deployments }, caller) => deployments.create(caller, body),
  }),
  operation({
    id: "deployments.get",
    summary: "Get a deployment with its source",
    method: "GET",
    path: "/deployments/{id}",
    needs: "deployments:read",
    answers: "object",
    params: byId,
    query: awaitable,
    result: deployment,
    problems: ["not_found"],
    run: ({ params, query, signal }, { deployments }, caller) =>
      deployments.get(caller, params.id, { seconds: query.wait, signal }),
  }),
  operation({
    id: "deployments.logs",
    summary: "Read the build and rollout log, oldest entry first; follow=true goes on as Server-Sent Events",
    method: "GET",
    path: "/deployments/{id}/logs",
    needs: "deployments:read",
    answers: "stream",
    params: byId,
    query: logsQuery,
    result: logEntry,
    problems: ["not_found"],
    run: ({ params, query, resume, signal }, { deployments }, caller) =>
      deployments.logs(caller, params.id, query, { resume, signal }),
  }),
  operation({
    id: "deployments.rollback",
    summary: "Deploy the version that was active before this deployment",
    method: "POST",
    path: "/deployments/{id}/rollback",
    needs: "deployments:write",
    answers: "created",
    location: "/deployments",
    params: byId,
    result: deployment,
    problems: ["not_found", "project_archived", "no_previous_version"],
    run: ({ params }, { deployments }, caller) => deployments.rollback(caller, params.id),
  }),
  operation({
    id: "deployments.cancel",
    summary: "Cancel a deployment that is queued or building",
    method: "POST",
    path: "/deployments/{id}/cancel",
    needs: "deployments:write",
    answers: "object",
    params: byId,
    result: deployment,
    problems: ["not_found", "not_cancellable"],
    run: ({ params }, { deployments }, caller) => deployments.cancel(caller, params.id),
  }),
];
