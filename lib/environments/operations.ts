import { operationsOf } from "../kernel/operation.ts";
import { byId } from "../kernel/validation.ts";
import { environment, environmentChanges, environmentsQuery, inProject } from "./schema.ts";
import type { EnvironmentsService } from "./service.ts";

const operation = operationsOf<{ environments: EnvironmentsService }>();

/** CONTRACT section 9. */
export const environmentsOperations = [
  operation({
    id: "environments.list",
    summary: "List the environments of a project by name, with their variables; the values of secret ones never",
    method: "GET",
    path: "/projects/{id}/environments",
    needs: "deployments:read",
    answers: "list",
    addition: true,
    params: byId,
    query: environmentsQuery,
    result: environment,
    problems: ["not_found"],
    run: ({ params, query }, { environments }, caller) => environments.list(caller, params.id, query),
  }),
  operation({
    id: "environments.put",
    summary: "Give an environment its variables, all of them; makes it where there is none yet",
    method: "PUT",
    path: "/projects/{id}/environments/{name}",
    needs: "deployments:write",
    answers: "object",
    addition: true,
    params: inProject,
    body: environmentChanges,
    result: environment,
    problems: ["not_found"],
    run: ({ params, body }, { environments }, caller) => environments.put(caller, params.id, params.name, body),
  }),
  operation({
    id: "environments.delete",
    summary: "Delete an environment with its variables; its deployments stay, and a later one makes it anew",
    method: "DELETE",
    path: "/projects/{id}/environments/{name}",
    needs: "deployments:write",
    answers: "empty",
    addition: true,
    params: inProject,
    problems: ["not_found"],
    run: ({ params }, { environments }, caller) => environments.remove(caller, params.id, params.name),
  }),
];
