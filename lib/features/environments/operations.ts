import { operationsOf } from "../../kernel/operation.ts";
import { logEntry, logsQuery, pageQuery } from "../../kernel/validation.ts";
import { environment, environmentChanges, environmentPatch, scheduleRun } from "./schema.ts";
import type { EnvironmentsService } from "./service.ts";

const operation = operationsOf<{ environments: EnvironmentsService }>();

export const environmentsOperations = [
  operation({
    id: "environments.list",
    summary: "List the environments of a project",
    description:
      "Lists the environments of the project by name, with their variables: all of them, or one page if `per_page` or `cursor` is given. The value of a secret variable is never returned.",
    route: "GET /projects/{id}/environments",
    needs: "deployments:read",
    answers: "list",
    query: pageQuery,
    result: environment,
    run: ({ params, query }, { environments }, caller) => environments.list(caller, params.id, query),
  }),
  operation({
    id: "environments.put",
    summary: "Set the variables, domains, root and protection of an environment",
    description:
      'Changes the fields in the body, and creates the environment if it does not exist. Fields that are left out stay as they are. `variables` replaces all variables; `{"secret": true}` without a value keeps the stored secret. Running deployments are not changed; the next deployment and the next restart use the new values. `protect` is a user and a password that every request to the apps needs, as soon as this call has answered; null removes it. `root` is the folder of the repository that is built, from the next deployment on; null builds all of it. `domains` replaces all domains of the environment. If domains are verified (option `domains.verify`), a new one becomes active once its TXT record holds the token of the organization, which `domain_status` shows. The service looks the record up immediately, at each PUT, and automatically for seven days, less and less often. A host that was given up stays reserved for its organization for seven days: for others it is 409 `domain_taken`.',
    route: "PUT /projects/{id}/environments/{name}",
    needs: "deployments:write",
    answers: "object",
    body: environmentChanges,
    result: environment,
    problems: ["domain_taken"],
    run: ({ params, body }, { environments }, caller) => environments.put(caller, params.id, params.name, body),
  }),
  operation({
    id: "environments.update",
    summary: "Set and remove single variables of an environment",
    description:
      "Sets the variables that the body names, removes those that are null, and leaves all others as they are, in one transaction. The other fields mean the same as in `PUT`. It creates the environment if it does not exist, so that variables can be set before the first deployment.",
    route: "PATCH /projects/{id}/environments/{name}",
    needs: "deployments:write",
    answers: "object",
    body: environmentPatch,
    result: environment,
    problems: ["domain_taken"],
    run: ({ params, body }, { environments }, caller) => environments.update(caller, params.id, params.name, body),
  }),
  operation({
    id: "environments.delete",
    summary: "Delete an environment",
    description:
      "Deletes the environment with its variables and domains, and stops its apps immediately. Its deployments remain readable, and a later deployment creates the environment again without variables.",
    route: "DELETE /projects/{id}/environments/{name}",
    needs: "deployments:write",
    answers: "empty",
    run: ({ params }, { environments }, caller) => environments.remove(caller, params.id, params.name),
  }),
  operation({
    id: "environments.logs",
    summary: "Read the output of the live release of an environment",
    description:
      "Returns the last 10,000 lines that live releases of the environment printed, oldest first: all of them, or one page if `per_page` or `cursor` is given. With `follow=true` the response is a stream of Server-Sent Events that continues until the environment is deleted; `Last-Event-ID` resumes it. Where deployments are simulated, nothing runs, the log is empty, and a stream ends at once.",
    route: "GET /projects/{id}/environments/{name}/logs",
    needs: "deployments:read",
    answers: "stream",
    query: logsQuery,
    result: logEntry,
    run: ({ params, query, resume, signal }, { environments }, caller) =>
      environments.logs(caller, params.id, params.name, query, { resume, signal }),
  }),
  operation({
    id: "environments.runs",
    summary: "List the runs of the schedules of an environment",
    description:
      "Lists the last 1,000 runs of the schedules of the environment, newest first: 20 a page by default. What a run printed is in the log of the environment, marked with the name of its schedule.",
    route: "GET /projects/{id}/environments/{name}/runs",
    needs: "deployments:read",
    answers: "list",
    query: pageQuery,
    result: scheduleRun,
    run: ({ params, query }, { environments }, caller) => environments.runs(caller, params.id, params.name, query),
  }),
  operation({
    id: "environments.restart",
    summary: "Restart the live release of an environment",
    description:
      "Starts the live release again with the present variables, beside the running instance, which is stopped once the new one is healthy. The response comes after the restart. If the new instance does not become healthy, the running one stays, and the log of the environment says why. If no release is live, the response is 409 `no_previous_version`. While the server that runs the environment is down, it is 503 `unavailable`.",
    route: "POST /projects/{id}/environments/{name}/restart",
    needs: "deployments:write",
    answers: "object",
    result: environment,
    problems: ["no_previous_version"],
    run: ({ params }, { environments }, caller) => environments.restart(caller, params.id, params.name),
  }),
];
