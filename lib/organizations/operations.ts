import { operationsOf } from "../kernel/operation.ts";
import { me, organization, organizationChanges } from "./schema.ts";
import type { OrganizationsService } from "./service.ts";

const operation = operationsOf<{ organizations: OrganizationsService }>();

export const organizationsOperations = [
  operation({
    id: "organization.get",
    summary: "Get the organization of the key",
    method: "GET",
    path: "/organization",
    needs: "users:read",
    answers: "object",
    addition: true,
    result: organization,
    problems: [],
    run: (_, { organizations }, caller) => organizations.get(caller),
  }),
  operation({
    id: "organization.update",
    summary: "Change the organization's name or plan",
    method: "PUT",
    path: "/organization",
    needs: "users:write",
    roles: ["owner"],
    answers: "object",
    addition: true,
    body: organizationChanges,
    result: organization,
    problems: ["name_taken"],
    run: ({ body }, { organizations }, caller) => organizations.update(caller, body),
  }),
  operation({
    id: "me.get",
    summary: "Tell whose key this is: organization, user and key",
    method: "GET",
    path: "/me",
    needs: "key",
    answers: "object",
    addition: true,
    result: me,
    problems: [],
    run: (_, { organizations }, caller) => organizations.me(caller),
  }),
];
