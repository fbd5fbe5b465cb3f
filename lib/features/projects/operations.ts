import { operationsOf } from "../../kernel/operation.ts";
import { pageQuery } from "../../kernel/validation.ts";
import { newProject, project, projectChanges } from "./schema.ts";
import type { ProjectsService } from "./service.ts";

const operation = operationsOf<{ projects: ProjectsService }>();

export const projectsOperations = [
  operation({
    id: "projects.list",
    summary: "List projects, newest first",
    description:
      "Lists the active and archived projects of the organization, one page at a time. A project that exists throughout appears exactly once, even when others are created or deleted between two pages.",
    route: "GET /projects",
    needs: "projects:read",
    answers: "list",
    specified: true,
    query: pageQuery,
    result: project,
    run: ({ query }, { projects }, caller) => projects.list(caller, query),
  }),
  operation({
    id: "projects.create",
    summary: "Create a project",
    description:
      "Creates a project with the status `active` and sends the event `project.created`. The name is trimmed and must be unique in the organization, ignoring case. The region is fixed from then on.",
    route: "POST /projects",
    needs: "projects:write",
    answers: "created",
    specified: true,
    body: newProject,
    result: project,
    problems: ["name_taken"],
    run: ({ body }, { projects }, caller) => projects.create(caller, body),
  }),
  operation({
    id: "projects.get",
    summary: "Get a project",
    description: "Returns one project. A project that was archived can still be read.",
    route: "GET /projects/{id}",
    needs: "projects:read",
    answers: "object",
    specified: true,
    result: project,
    run: ({ params }, { projects }, caller) => projects.get(caller, params.id),
  }),
  operation({
    id: "projects.update",
    summary: "Update a project's name or description",
    description:
      "Changes the fields that are given and refreshes `updated_at`, even if nothing changed. An empty or null `description` clears it. A `region` other than the project's own is refused with 422. No event is sent.",
    route: "PUT /projects/{id}",
    needs: "projects:write",
    answers: "object",
    specified: true,
    body: projectChanges,
    result: project,
    problems: ["name_taken"],
    run: ({ params, body }, { projects }, caller) => projects.update(caller, params.id, body),
  }),
  operation({
    id: "projects.delete",
    summary: "Delete a project and everything in it",
    description:
      "Permanently deletes the project with its deployments, logs, environments and variables, and stops its running work. The event `project.deleted` is sent. This cannot be undone; archive the project to keep its records.",
    route: "DELETE /projects/{id}",
    needs: "projects:write",
    answers: "empty",
    specified: true,
    run: ({ params }, { projects }, caller) => projects.remove(caller, params.id),
  }),
  operation({
    id: "projects.archive",
    summary: "Archive a project",
    description:
      "Sets the status to `archived`. An archived project can be read, updated and deleted; a new deployment or rollback is refused with 409 `project_archived`. Deployments that are already running continue. No event is sent.",
    route: "POST /projects/{id}/archive",
    needs: "projects:write",
    answers: "object",
    result: project,
    run: ({ params }, { projects }, caller) => projects.archive(caller, params.id),
  }),
  operation({
    id: "projects.unarchive",
    summary: "Restore an archived project",
    description: "Sets the status back to `active`, so that the project accepts deployments again. No event is sent.",
    route: "POST /projects/{id}/unarchive",
    needs: "projects:write",
    answers: "object",
    result: project,
    run: ({ params }, { projects }, caller) => projects.unarchive(caller, params.id),
  }),
];
