import * as v from "valibot";
import { roles } from "../kernel/roles.ts";
import { datetime, id, oneOf, textOf } from "../kernel/validation.ts";

/** CONTRACT section 2: "Plans". */
export const plans = ["starter", "pro", "enterprise"] as const;

export type Plan = (typeof plans)[number];

export const organizationName = textOf(1, 64, { trim: true });

/** CONTRACT section 9. */
export const organization = v.object({
  id: id("org"),
  name: v.string(),
  plan: v.picklist(plans),
  created_at: datetime(),
});
export const organizationChanges = v.object({ name: v.optional(organizationName), plan: v.optional(oneOf(plans)) });

/** CONTRACT section 9, `GET /me`. */
export const me = v.object({
  organization: v.object({
    id: id("org"),
    name: v.string(),
    plan: v.picklist(plans),
  }),
  user: v.object({
    id: id("usr"),
    name: v.string(),
    email: v.string(),
    role: v.picklist(roles),
    status: v.string(),
    joined_at: v.string(),
  }),
  key: v.object({
    id: id("key"),
    name: v.string(),
    scopes: v.array(v.string()),
  }),
});
