import { operationsOf } from "../../kernel/operation.ts";
import { user, userChanges, usersQuery } from "./schema.ts";
import type { UsersService } from "./service.ts";

const operation = operationsOf<{ users: UsersService }>();

/** The operations on users (schema/README.md#operations). `invitations` has the ones for inviting. */
export const usersOperations = [
  operation({
    id: "users.list",
    summary: "List active members",
    description:
      "Lists the active members of the organization: all of them, or one page if `per_page` or `cursor` is given. Pending invitations are not listed, and suspended users only with `status=suspended`.",
    route: "GET /users",
    needs: "users:read",
    answers: "list",
    specified: true,
    query: usersQuery,
    result: user,
    run: async ({ query }, { users }, caller) => users.list(caller, query),
  }),
  operation({
    id: "users.get",
    summary: "Get a user",
    description: "Returns one member. Suspended users can be read as well.",
    route: "GET /users/{id}",
    needs: "users:read",
    answers: "object",
    specified: true,
    result: user,
    run: ({ params }, { users }, caller) => users.get(caller, params.id),
  }),
  operation({
    id: "users.update",
    summary: "Change a user's role",
    description:
      "Changes the role, which applies to the user's next request. Only an owner may promote a user to `owner`, with a key that has the scope `*`, or demote one. The last active owner cannot be demoted; promote another user first.",
    route: "PUT /users/{id}",
    needs: "users:write",
    answers: "object",
    specified: true,
    body: userChanges,
    result: user,
    problems: ["last_owner"],
    run: ({ params, body }, { users }, caller) => users.update(caller, params.id, body),
  }),
  operation({
    id: "users.delete",
    summary: "Remove a user",
    description:
      "Removes the user from the organization and revokes all of their API keys immediately. The open invitations that they sent expire. The event `user.removed` is sent. Only an owner may remove an owner, and the last active owner cannot be removed.",
    route: "DELETE /users/{id}",
    needs: "users:write",
    answers: "empty",
    specified: true,
    problems: ["last_owner"],
    run: ({ params }, { users }, caller) => users.remove(caller, params.id),
  }),
  operation({
    id: "users.suspend",
    summary: "Suspend a user",
    description:
      "Sets the status to `suspended`. The user's API keys stop working immediately and work again after reactivation; their sign-ins to the dashboard end for good. The open invitations that they sent expire, and remain so. Only an owner may suspend an owner, and the last active owner cannot be suspended. No event is sent.",
    route: "POST /users/{id}/suspend",
    needs: "users:write",
    answers: "object",
    result: user,
    problems: ["last_owner"],
    run: ({ params }, { users }, caller) => users.suspend(caller, params.id),
  }),
  operation({
    id: "users.reactivate",
    summary: "Reactivate a suspended user",
    description:
      "Sets the status back to `active`. The user's API keys that were not revoked or expired work again. They sign in to the dashboard again. No event is sent.",
    route: "POST /users/{id}/reactivate",
    needs: "users:write",
    answers: "object",
    result: user,
    run: ({ params }, { users }, caller) => users.reactivate(caller, params.id),
  }),
];
