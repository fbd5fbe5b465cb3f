import * as v from "valibot";
import { refRule, repoRule } from "../../deployments/source.ts";
import { secretRule } from "../../endpoints/schema.ts";
import { environmentName } from "../../environments/schema.ts";
import { text } from "../../kernel/validation.ts";
import { given, hidden, type IntegrationType } from "./integration-type.ts";

const ruled = (rule: (value: string) => string | undefined) =>
  v.pipe(
    text(),
    v.rawCheck(({ dataset, addIssue }) => {
      const message = dataset.typed ? rule(dataset.value) : undefined;
      if (message) addIssue({ message });
    }),
  );

const schema = v.object({
  repo: ruled(repoRule),
  branch: ruled(refRule),
  environment: environmentName,
  project_id: v.optional(v.nullable(text())),
  secret: v.optional(v.nullable(secretRule)),
});

/** Deploys when commits or tags are pushed. It sends nothing: pushes come in. */
export const codeHost: IntegrationType = {
  schema,
  parts(config) {
    const { secret, ...rest } = config as v.InferOutput<typeof schema>;
    return {
      name: `${rest.repo} (${rest.branch} → ${rest.environment})`,
      events: [],
      config: given(rest),
      secrets: given({ secret }) as Record<string, string>,
    };
  },
  redacted: ({ secret }) => (secret === undefined ? {} : { secret: hidden }),
  url: () => undefined,
  kind: undefined,
};
