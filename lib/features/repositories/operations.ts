import { operationsOf } from "../../kernel/operation.ts";
import { repository, repositoryChanges } from "./schema.ts";
import type { RepositoriesService } from "./service.ts";

const operation = operationsOf<{ repositories: RepositoriesService }>();

export const repositoriesOperations = [
  operation({
    id: "repositories.list",
    summary: "List the pushed repositories",
    description:
      "Lists the git repositories of the organization that were pushed to this service, by name: all of them. Without a runtime, the list is empty. Among servers that share a database, the server with the runtime has the repositories; the others answer 421 `misdirected_request`.",
    route: "GET /repositories",
    needs: "deployments:read",
    answers: "list",
    result: repository,
    run: (_, { repositories }, caller) => repositories.list(caller),
  }),
  operation({
    id: "repositories.update",
    summary: "Change the default branch of a repository",
    description:
      "Makes another branch of the repository the default, which a push deploys to the project of the repository's name. Nothing is deployed until its next push. The former default branch can then be deleted with `git push`.",
    route: "PATCH /repositories/{owner}/{name}",
    needs: "deployments:write",
    answers: "object",
    body: repositoryChanges,
    result: repository,
    run: ({ params, body }, { repositories }, caller) => repositories.update(caller, params, body),
  }),
  operation({
    id: "repositories.delete",
    summary: "Delete a repository",
    description:
      "Deletes the repository with its branches, tags and commits. Its deployments stay, and so does what runs. A rollback to a release that is no longer stored then fails, unless the code host has the commit. The next push makes the repository again.",
    route: "DELETE /repositories/{owner}/{name}",
    needs: "deployments:write",
    answers: "empty",
    run: ({ params }, { repositories }, caller) => repositories.remove(caller, params),
  }),
];
