import * as v from "valibot";
import { field, optionalField } from "../../../kernel/field.ts";
import { redaction } from "../../../kernel/secrets/secret-values.ts";
import { text } from "../../../kernel/validation.ts";
import { secretRule } from "../../deliveries/schema.ts";
import { refRule, repoRule, textWith } from "../../deployments/source.ts";
import { rootFolder } from "../../environments/rules.ts";
import { environmentName } from "../../environments/schema.ts";
import { type IntegrationType, withoutNulls } from "./integration-type.ts";

const schema = v.object({
  repo: field(textWith(repoRule), "The repository whose pushes deploy, as `owner/repo`."),
  branch: field(textWith(refRule), "The branch whose pushes deploy."),
  environment: field(environmentName, "The environment that they deploy to."),
  project_id: optionalField(
    v.nullable(text()),
    "The project that they deploy into. Without it, the project that last deployed the repository, else the organization's only project.",
  ),
  root: optionalField(
    v.nullable(rootFolder),
    "The folder of the repository that is built, such as `apps/web`. Pushes that change nothing below it deploy nothing. Without it, the `root` of the environment counts.",
  ),
  previews: optionalField(
    v.nullable(v.boolean("must be true or false")),
    "`true` deploys each pull or merge request to the environment `pr-<number>`, with the variables of `environment`. Without it, none is deployed.",
  ),
  secret: optionalField(v.nullable(secretRule), "The secret that signs pushes. Without it, that of the connected app."),
});

/** Deploys pushed commits and tags. It receives pushes and sends nothing. */
export const codeHost: IntegrationType = {
  schema,
  parse(config) {
    const { secret, ...rest } = config as v.InferOutput<typeof schema>;
    return {
      name: `${rest.repo} (${rest.branch} → ${rest.environment})`,
      events: [],
      config: withoutNulls(rest),
      secrets: withoutNulls({ secret }),
    };
  },
  redacted: ({ secret }) => (secret === undefined ? {} : { secret: redaction }),
  target: () => undefined,
  format: undefined,
};
