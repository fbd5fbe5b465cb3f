import { operationsOf } from "../kernel/operation.ts";
import { me } from "./schema.ts";
import type { OrganizationsService } from "./service.ts";

const operation = operationsOf<{ organizations: OrganizationsService }>();

export const organizationsOperations = [
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
