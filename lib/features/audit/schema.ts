import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { ways } from "../../kernel/maker.ts";
import { datetime, id, paging, textOf } from "../../kernel/validation.ts";

export const refusedSignIn = "sign-in.refused";
/** The action of a first sign-in that creates its user. */
export const createdUser = "users.create";

/** Holds identifiers, but never a secret, a body or a mail address. */
export const auditEntry = field(
  v.object({
    id: field(id("aud"), "The identifier of the entry."),
    at: field(datetime(), "When it happened."),
    action: field(
      v.string(),
      "The name of the operation, such as `projects.delete`; `users.create` for a user created by their first sign-in; `branches.create`, `branches.update` or `branches.delete` for a push; or `sign-in.refused`.",
    ),
    target: field(
      v.nullable(v.string()),
      "The identifier of the record that was changed, such as `proj_…`, or the branch as `owner/repo:branch`; null if there is none.",
    ),
    user_id: field(v.nullable(v.string()), "The person who made the change; null if unknown."),
    key_id: field(v.nullable(v.string()), "The API key of the call; null if there was none."),
    via: field(
      v.picklist(ways),
      "How the change came in: the interface, the dashboard, a push to a repository of this service, a hook of a code host, such as for a pull request, or a command.",
    ),
    address: field(v.nullable(v.string()), "The network address of the client; null for a call in the process."),
    request_id: field(
      v.nullable(v.string()),
      "The request, as in the header `X-Request-Id`; if the caller has set that header, another id.",
    ),
  }),
  "A change that succeeded, or a sign-in that was refused.",
);

export const auditQuery = v.object({
  ...paging(),
  action: optionalField(textOf(1, 100), "Only entries of this action."),
  user_id: optionalField(textOf(1, 100), "Only entries of this person."),
});
