import { operationsOf } from "../../kernel/operation.ts";
import { awaitable, logEntry, logsQuery } from "../../kernel/validation.ts";
import { deployment, deploymentItem, deploymentsQuery, newDeployment } from "./schema.ts";
import type { DeploymentsService } from "./service.ts";

const operation = operationsOf<{ deployments: DeploymentsService }>();

export const deploymentsOperations = [
  operation({
    id: "deployments.list",
    summary: "List deployments, newest first",
    description:
      "Lists deployments without their `source`, one page at a time. The filters can be combined. An unknown `project_id` gives an empty list.",
    route: "GET /deployments",
    needs: "deployments:read",
    answers: "list",
    specified: true,
    query: deploymentsQuery,
    result: deploymentItem,
    run: ({ query }, { deployments }, caller) => deployments.list(caller, query),
  }),
  operation({
    id: "deployments.create",
    summary: "Deploy a Git repository or a container image into an environment",
    description:
      "Queues a deployment and returns it at once with the status `queued`; the event `deployment.queued` is sent. Deployments to the same environment of a project run one at a time, in the order of their creation. A Git source may name a branch or a tag (the tag wins; neither means the default branch); an image needs a tag or a digest. Follow the progress with `wait`, the log, webhooks or the stream.",
    route: "POST /deployments",
    needs: "deployments:write",
    answers: "created",
    specified: true,
    audited: false,
    body: newDeployment,
    result: deployment,
    problems: ["not_found", "project_archived"],
    run: ({ body }, { deployments }, caller) => deployments.create(caller, body),
  }),
  operation({
    id: "deployments.get",
    summary: "Get a deployment",
    description:
      "Returns one deployment with its `source`. With `wait`, the response comes as soon as the deployment has ended, or after that many seconds with its state at that time; set your client's timeout higher than that.",
    route: "GET /deployments/{id}",
    needs: "deployments:read",
    answers: "object",
    specified: true,
    query: awaitable,
    result: deployment,
    run: ({ params, query, signal }, { deployments }, caller) =>
      deployments.get(caller, params.id, { seconds: query.wait, signal }),
  }),
  operation({
    id: "deployments.logs",
    summary: "Read the log of a deployment",
    description:
      "Returns build and rollout log entries, oldest first: all of them, or one page if `per_page` or `cursor` is given. With `follow=true` the response is a stream of Server-Sent Events that continues until the deployment ends; `Last-Event-ID` resumes it. A log holds at most 10,000 entries or 8 MiB, and its last entry says so if it is full.",
    route: "GET /deployments/{id}/logs",
    needs: "deployments:read",
    answers: "stream",
    specified: true,
    query: logsQuery,
    result: logEntry,
    run: ({ params, query, resume, signal }, { deployments }, caller) =>
      deployments.logs(caller, params.id, query, { resume, signal }),
  }),
  operation({
    id: "deployments.rollback",
    summary: "Roll back to the previous version",
    description:
      "Creates a new deployment of the newest deployment before this one, in the same project and environment, that became `active`. It uses the same source and version. The deployment that is rolled back does not change. The events `deployment.rolled_back` (for this deployment) and `deployment.queued` (for the new one) are sent. With `wait`, the response comes as soon as the new deployment has ended, or after that many seconds.",
    route: "POST /deployments/{id}/rollback",
    needs: "deployments:write",
    answers: "created",
    specified: true,
    location: "/deployments",
    query: awaitable,
    result: deployment,
    problems: ["project_archived", "no_previous_version"],
    run: ({ params, query, signal }, { deployments }, caller) =>
      deployments.rollback(caller, params.id, { seconds: query.wait, signal }),
  }),
  operation({
    id: "deployments.cancel",
    summary: "Cancel a deployment that is queued or building",
    description:
      "Sets the status to `cancelled` and stops the build. From any other state it is refused with 409 `not_cancellable`, even if the deployment leaves these states at that moment. No event is sent.",
    route: "POST /deployments/{id}/cancel",
    needs: "deployments:write",
    answers: "object",
    specified: true,
    result: deployment,
    problems: ["not_cancellable"],
    run: ({ params }, { deployments }, caller) => deployments.cancel(caller, params.id),
  }),
];
