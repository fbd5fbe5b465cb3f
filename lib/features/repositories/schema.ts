import * as v from "valibot";
import { field } from "../../kernel/field.ts";
import { datetime } from "../../kernel/validation.ts";
import { refRule, textWith } from "../deployments/source.ts";

export const repository = field(
  v.object({
    name: field(v.string(), "The name, as `owner/repo`: the `repo` of a source.", "acme/web"),
    default_branch: field(
      v.nullable(v.string()),
      "The branch that a push deploys without further rules; null until it exists.",
      "main",
    ),
    size: field(v.number(), "The size of its packs, in bytes."),
    pushed_at: field(
      v.nullable(datetime()),
      "When it was last pushed; null if that was to an earlier version of the service.",
    ),
  }),
  "A git repository that was pushed to this service.",
);

export const repositoryChanges = v.object({
  default_branch: field(textWith(refRule), "The new default branch, which must exist.", "main"),
});
