import { operationsOf } from "../../kernel/operation.ts";
import { byOwnerAndName, repository, repositoryChanges } from "./schema.ts";
import type { RepositoriesService } from "./service.ts";

const operation = operationsOf<{ repositories: RepositoriesService }>();

/** The operations on the repositories that were pushed to this service. */
export const repositoriesOperations = [
  operation({
    id: "repositories.list",
    summary: "List the pushed repositories",
    description:
      "Lists the git repositories of the organization that were pushed to this service, by name: all of them. Without a runtime, the list is empty. Among servers that share a database, the server with the runtime has the repositories; the others answer 421 `misdirected_request`.",
    method: "GET",
    path: "/repositories",
    needs: "deployments:read",
    answers: "list",
    addition: true,
    result: repository,
    problems: [],
    run: (_, { repositories }, caller) => repositories.list(caller),
  }),
  operation({
    id: "repositories.update",
    summary: "Change the default branch of a repository",
    description:
      "Makes another branch of the repository the default, which a push deploys to the project of the repository's name. Nothing is deployed until its next push. The former default branch can then be deleted with `git push`.",
    method: "PATCH",
    path: "/repositories/{owner}/{name}",
    needs: "deployments:write",
    answers: "object",
    addition: true,
    params: byOwnerAndName,
    body: repositoryChanges,
    result: repository,
    problems: ["not_found"],
    run: ({ params, body }, { repositories }, caller) => repositories.update(caller, params, body),
  }),
  operation({
    id: "repositories.delete",
    summary: "Delete a repository",
    description:
      "Deletes the repository with its branches, tags and commits. Its deployments stay, and so does what runs. A rollback to a release that is no longer stored then fails, unless the code host has the commit. The next push makes the repository again.",
    method: "DELETE",
    path: "/repositories/{owner}/{name}",
    needs: "deployments:write",
    answers: "empty",
    addition: true,
    params: byOwnerAndName,
    problems: ["not_found"],
    run: ({ params }, { repositories }, caller) => repositories.remove(caller, params),
  }),
];
