import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { roles } from "../../kernel/roles.ts";
import { datetime, id, oneOf, paging, textOf } from "../../kernel/validation.ts";
import { lifecycle } from "./states.ts";

export const user = field(
  v.object({
    id: field(id("usr"), "The identifier of the user."),
    name: field(v.string(), "The name that the user chose.", "Ada"),
    email: field(v.string(), "The address, unique in the organization."),
    role: field(v.picklist(roles), "What the user may do."),
    status: field(v.picklist(lifecycle.states), "The keys of a suspended user do not work."),
    joined_at: field(datetime(), "When the user joined the organization."),
  }),
  "A member of the organization.",
);

export const displayName = textOf(1, 128, { trim: true });
export const role = oneOf(roles);
export const userChanges = v.object({ role: field(role, "The new role. The last owner keeps theirs.") });
export const usersQuery = v.object({
  ...paging(),
  status: optionalField(oneOf(lifecycle.states), "Only users with this status; `active` by default."),
});
