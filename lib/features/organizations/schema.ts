import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { roles } from "../../kernel/roles.ts";
import { datetime, id, oneOf, textOf } from "../../kernel/validation.ts";

export const plans = ["starter", "pro", "enterprise"] as const;

export type Plan = (typeof plans)[number];

export const organizationName = textOf(1, 64, { trim: true });

const summary = {
  id: field(id("org"), "The identifier of the organization."),
  name: field(v.string(), "The name of the organization.", "acme"),
  plan: field(v.picklist(plans), "The plan, which decides what the organization may use."),
};
export const organization = field(
  v.object({ ...summary, created_at: field(datetime(), "When the organization was created.") }),
  "An organization: every record belongs to one.",
);
export const organizationChanges = v.object({
  name: optionalField(organizationName, "The new name. Left out, it stays.", "acme"),
  plan: optionalField(oneOf(plans), "The new plan. Left out, it stays."),
});

export const me = field(
  v.object({
    organization: field(v.object(summary), "The organization of the caller."),
    user: field(
      v.object({
        id: field(id("usr"), "The identifier of the user."),
        name: field(v.string(), "The name of the user.", "Ada"),
        email: field(v.string(), "The address of the user."),
        role: field(v.picklist(roles), "What the user may do."),
        status: field(v.string(), "Always `active`: the keys of other users do not work."),
        joined_at: field(v.string(), "When the user joined, in ISO 8601."),
      }),
      "The user whom the key acts for.",
    ),
    key: field(
      v.object({
        id: field(id("key"), "The identifier of the key."),
        name: field(v.string(), "The name of the key.", "ci"),
        scopes: field(v.array(v.string()), "What the key may do, within the role of its user."),
      }),
      "The API key of the request.",
    ),
  }),
  "The organization, the user and the key of a caller.",
);
