import * as v from "valibot";
import { roles } from "../kernel/roles.ts";
import { datetime, id, oneOf, paging, textOf } from "../kernel/validation.ts";
import { lifecycle } from "./states.ts";

/** SPEC "User". */
export const user = v.object({
  id: id("usr"),
  name: v.string(),
  email: v.string(),
  role: v.picklist(roles),
  status: v.picklist(lifecycle.states),
  joined_at: datetime(),
});

export const displayName = textOf(1, 128, { trim: true });
export const role = oneOf(roles);
export const userChanges = v.object({ role });
export const usersQuery = v.object({ ...paging(), status: v.optional(oneOf(lifecycle.states)) });
