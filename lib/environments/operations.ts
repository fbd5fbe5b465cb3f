import { operationsOf } from "../kernel/operation.ts";
import { byId } from "../kernel/validation.ts";
import { environment, environmentChanges, environmentsQuery, inProject } from "./schema.ts";
import type { EnvironmentsService } from "./service.ts";

const operation = operationsOf<{ environments: EnvironmentsService }>();

/** CONTRACT section 9. */
export const environmentsOperations = [
  operation({
    id: "environments.list",
    summary: "List the environments of a project",
    description:
      "Lists the environments of the project by name, with their variables: all of them, or one page if `per_page` or `cursor` is given. The value of a secret variable is never returned.",
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
    summary: "Set the variables of an environment",
    description:
      'Replaces all variables of the environment and creates the environment if it does not exist. A variable that is left out is removed; `{"secret": true}` without a value keeps the stored secret. Running deployments are not changed; the next deployment uses the new values.',
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
    summary: "Delete an environment",
    description:
      "Deletes the environment and its variables. Its deployments remain readable, and a later deployment creates the environment again without variables.",
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
