import { operationsOf } from "../kernel/operation.ts";
import { byId } from "../kernel/validation.ts";
import { user, userChanges, usersQuery } from "./schema.ts";
import type { UsersService } from "./service.ts";

const operation = operationsOf<{ users: UsersService }>();

/** SPEC "Endpoints", users; suspending is CONTRACT section 9. Inviting is in `invitations`. */
export const usersOperations = [
  operation({
    id: "users.list",
    summary: "List the active members",
    method: "GET",
    path: "/users",
    needs: "users:read",
    answers: "list",
    query: usersQuery,
    result: user,
    problems: [],
    run: ({ query }, { users }, caller) => users.list(caller, query),
  }),
  operation({
    id: "users.get",
    summary: "Get a user",
    method: "GET",
    path: "/users/{id}",
    needs: "users:read",
    answers: "object",
    params: byId,
    result: user,
    problems: ["not_found"],
    run: ({ params }, { users }, caller) => users.get(caller, params.id),
  }),
  operation({
    id: "users.update",
    summary: "Change a user's role",
    method: "PUT",
    path: "/users/{id}",
    needs: "users:write",
    answers: "object",
    params: byId,
    body: userChanges,
    result: user,
    problems: ["not_found", "last_owner"],
    run: ({ params, body }, { users }, caller) => users.update(caller, params.id, body),
  }),
  operation({
    id: "users.delete",
    summary: "Remove a user and revoke their keys",
    method: "DELETE",
    path: "/users/{id}",
    needs: "users:write",
    answers: "empty",
    params: byId,
    problems: ["not_found", "last_owner"],
    run: ({ params }, { users }, caller) => users.remove(caller, params.id),
  }),
  operation({
    id: "users.suspend",
    summary: "Suspend a user: their keys stop at once",
    method: "POST",
    path: "/users/{id}/suspend",
    needs: "users:write",
    answers: "object",
    addition: true,
    params: byId,
    result: user,
    problems: ["not_found", "last_owner"],
    run: ({ params }, { users }, caller) => users.suspend(caller, params.id),
  }),
  operation({
    id: "users.reactivate",
    summary: "Bring a suspended user back",
    method: "POST",
    path: "/users/{id}/reactivate",
    needs: "users:write",
    answers: "object",
    addition: true,
    params: byId,
    result: user,
    problems: ["not_found"],
    run: ({ params }, { users }, caller) => users.reactivate(caller, params.id),
  }),
];
