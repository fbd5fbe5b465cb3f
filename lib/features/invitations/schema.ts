import * as v from "valibot";
import { field } from "../../kernel/field.ts";
import { roles } from "../../kernel/roles.ts";
import { datetime, email, id, textOf } from "../../kernel/validation.ts";
import { displayName, role, user } from "../users/schema.ts";

export const invitation = field(
  v.object({
    id: field(id("inv"), "The identifier of the invitation."),
    email: field(v.string(), "The address that is invited."),
    role: field(v.picklist(roles), "The role that the new member gets."),
    invited_at: field(datetime(), "When the invitation was last sent."),
    expires_at: field(datetime(), "When its token expires."),
    mail_status: field(
      v.picklist(["kept", "pending", "sent", "failed"]),
      "How its mail went: `kept` where the service has no mail server.",
    ),
    mail_error: field(v.nullable(v.string()), "Why the last try to send its mail failed; null without a failure."),
  }),
  "An open invitation to join the organization.",
);

export const newInvitation = v.object({
  email: field(email(), "The address to invite; no member may have it."),
  role: field(role, "The role that the new member gets."),
});
export const acceptance = v.object({
  token: field(textOf(1, 256), "The token of the mail. It works once."),
  name: field(displayName, "The name of the new member.", "Ada"),
});
export const member = field(
  v.object({ ...user.entries, api_key: field(v.string(), "A first API key, shown only here.") }),
  "The new user of an accepted invitation, with a first API key.",
);
