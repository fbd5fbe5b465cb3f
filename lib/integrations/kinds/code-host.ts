import * as v from "valibot";
import { refRule, repoRule } from "../../deployments/source.ts";
import { secretRule } from "../../endpoints/schema.ts";
import { environmentName } from "../../environments/schema.ts";
import { text } from "../../kernel/validation.ts";
import { type IntegrationType, redaction, withoutNulls } from "./integration-type.ts";

const textWith = (rule: (value: string) => string | undefined) =>
  v.pipe(
    text(),
    v.rawCheck(({ dataset, addIssue }) => {
      const message = dataset.typed ? rule(dataset.value) : undefined;
      if (message) addIssue({ message });
    }),
  );

const schema = v.object({
  repo: textWith(repoRule),
  branch: textWith(refRule),
  environment: environmentName,
  project_id: v.optional(v.nullable(text())),
  secret: v.optional(v.nullable(secretRule)),
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
