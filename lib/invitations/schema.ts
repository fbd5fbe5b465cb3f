import * as v from "valibot";
import { roles } from "../kernel/roles.ts";
import { datetime, email, id, paging, textOf } from "../kernel/validation.ts";
import { displayName, role, user } from "../users/schema.ts";

/** SPEC "Invitation". */
export const invitation = v.object({
  id: id("inv"),
  email: v.string(),
  role: v.picklist(roles),
  invited_at: datetime(),
  expires_at: datetime(),
});

export const newInvitation = v.object({ email: email(), role });
export const acceptance = v.object({
  token: textOf(1, 256),
  name: displayName,
});
/** The new user, with a first API key, shown this once. */
export const member = v.object({ ...user.entries, api_key: v.string() });
export const invitationsQuery = v.object(paging());
