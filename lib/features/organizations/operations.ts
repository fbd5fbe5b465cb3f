import { operationsOf } from "../../kernel/operation.ts";
import { me, organization, organizationChanges } from "./schema.ts";
import type { OrganizationsService } from "./service.ts";

const operation = operationsOf<{ organizations: OrganizationsService }>();

export const organizationsOperations = [
  operation({
    id: "organization.get",
    summary: "Get the organization",
    description: "Returns the organization that the API key belongs to, with its plan. Every member may read it.",
    route: "GET /organization",
    needs: "users:read",
    answers: "object",
    result: organization,
    run: (_, { organizations }, caller) => organizations.get(caller),
  }),
  operation({
    id: "organization.update",
    summary: "Update the organization",
    description:
      "Changes the name or the plan. A change to the plan `starter` turns the monitoring integrations off. The name must not belong to another organization of this service.",
    route: "PUT /organization",
    needs: "users:write",
    roles: ["owner"],
    answers: "object",
    body: organizationChanges,
    result: organization,
    problems: ["name_taken"],
    run: ({ body }, { organizations }, caller) => organizations.update(caller, body),
  }),
  operation({
    id: "me.get",
    summary: "Get the caller",
    description:
      "Returns the organization, the user and the API key that the request was made with. Any valid key may call it, whatever its scopes.",
    route: "GET /me",
    needs: "key",
    answers: "object",
    result: me,
    run: (_, { organizations }, caller) => organizations.me(caller),
  }),
];
