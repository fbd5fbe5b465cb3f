import { operationsOf } from "../../kernel/operation.ts";
import { pageQuery } from "../../kernel/validation.ts";
import { acceptance, invitation, member, newInvitation } from "./schema.ts";
import type { InvitationsService } from "./service.ts";

const operation = operationsOf<{ invitations: InvitationsService }>();

export const accept = operation({
  id: "invitations.accept",
  summary: "Accept an invitation",
  description:
    "Creates the user and returns it with a first API key, which is shown only this once. No key is needed: the token from the email is the credential. An unknown, used or expired token is 404.",
  route: "POST /invitations/accept",
  needs: "nothing",
  answers: "created",
  location: "/users",
  body: acceptance,
  result: member,
  problems: ["not_found"],
  run: ({ body }, { invitations }, caller) => invitations.accept(caller, body),
});

export const invitationsOperations = [
  operation({
    id: "users.invite",
    summary: "Invite a user by email",
    description:
      "Sends a single-use token to the address; the invitation is valid for 7 days. The event `user.invited` is sent. Only an owner may invite an owner, with a key that has the scope `*`. The first API key of the invited person has the scopes of the key that sent the invitation. If the sender is suspended or removed, the invitation expires. An address that belongs to a member or has a pending invitation is refused with 409; an expired invitation is replaced.",
    route: "POST /users/invite",
    needs: "users:write",
    answers: "created",
    specified: true,
    location: "/invitations",
    body: newInvitation,
    result: invitation,
    problems: ["already_member", "invitation_pending"],
    run: ({ body }, { invitations }, caller) => invitations.invite(caller, body),
  }),
  operation({
    id: "invitations.list",
    summary: "List open invitations",
    description:
      "Lists the invitations that were not accepted: all of them, or one page if `per_page` or `cursor` is given. Expired invitations remain listed for 30 days, among them those whose sender was suspended or removed: their `expires_at` is that instant.",
    route: "GET /invitations",
    needs: "users:read",
    answers: "list",
    query: pageQuery,
    result: invitation,
    run: async ({ query }, { invitations }, caller) => invitations.list(caller, query),
  }),
  operation({
    id: "invitations.get",
    summary: "Get an invitation",
    description: "Returns one invitation that was not accepted. The token is only in the email.",
    route: "GET /invitations/{id}",
    needs: "users:read",
    answers: "object",
    result: invitation,
    run: ({ params }, { invitations }, caller) => invitations.get(caller, params.id),
  }),
  operation({
    id: "invitations.revoke",
    summary: "Revoke an invitation",
    description: "Deletes the invitation. Its token stops working immediately. No event is sent.",
    route: "DELETE /invitations/{id}",
    needs: "users:write",
    answers: "empty",
    run: ({ params }, { invitations }, caller) => invitations.revoke(caller, params.id),
  }),
  operation({
    id: "invitations.resend",
    summary: "Resend an invitation",
    description:
      "Sends a new email with a new token that is valid for 7 days; the previous token stops working. An expired invitation can be resent. From then on it counts as sent by the caller. No event is sent.",
    route: "POST /invitations/{id}/resend",
    needs: "users:write",
    answers: "object",
    result: invitation,
    run: ({ params }, { invitations }, caller) => invitations.resend(caller, params.id),
  }),
  accept,
];
