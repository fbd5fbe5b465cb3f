import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { redaction } from "../../kernel/secrets/secret-values.ts";
import { datetime, id, textLike } from "../../kernel/validation.ts";
import { allVariables, otherFields, singleVariables, storedSecret } from "./rules.ts";
import { ofRelease } from "./running-schema.ts";

/** Neither `.` nor `..`: programs shorten both in a path, so no URL would lead to the environment. */
export const environmentName = textLike(
  64,
  /^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9._-])[A-Za-z0-9._-]*$/,
  "must be 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen, but not . or ..",
);

const isAnyGiven = <T extends object>() =>
  v.check<T, string>(
    (changes) => Object.values(changes).some((one) => one !== undefined),
    "is required if no other field is given",
  );

/** Replaces all variables. */
export const environmentChanges = v.pipe(
  v.object({ ...otherFields, variables: v.optional(allVariables) }),
  v.forward(isAnyGiven(), ["variables"]),
);

/** Sets and removes single variables. */
export const environmentPatch = v.pipe(
  v.object({ ...otherFields, variables: v.optional(singleVariables) }),
  v.forward(isAnyGiven(), ["variables"]),
);

const preview = field(
  v.object({
    integration_id: field(id("int"), "The integration whose repository has the request."),
    number: field(v.number(), "The number of the request.", 42),
    url: field(
      v.nullable(v.string()),
      "The page of the request at the code host; null if it named none.",
      "https://git.example.com/acme/web/pulls/42",
    ),
    commit: field(v.string(), "The newest commit of the request."),
    fork: field(
      v.boolean(),
      "Whether the request comes from a fork. Its pushes wait until a member deploys `source` to this environment.",
    ),
    source: field(
      v.object({
        type: field(v.literal("git"), "A Git repository."),
        repo: field(v.string(), "The repository of the request's branch."),
        branch: field(v.string(), "The branch of the request.", "fix-login"),
      }),
      "The source that the request wants to merge, in the form for `POST /deployments`.",
    ),
  }),
  "The pull or merge request that this environment previews; absent for other environments.",
);
export type Preview = v.InferOutput<typeof preview>;

/** Without a runtime, an environment shows no URL, and shows domains only if it has any. */
export const environment = v.object({
  name: field(v.string(), "The name of the environment, unique in its project.", "production"),
  variables: field(
    v.record(v.string(), v.union([v.string(), storedSecret])),
    'The variables by name, as text; a secret shows as `{"secret":true}`.',
  ),
  domains: optionalField(v.array(v.string()), "The environment's own host names."),
  domain_status: v.optional(
    v.pipe(
      v.array(
        v.object({
          name: field(v.string(), "The domain.", "www.acme.example"),
          status: field(v.picklist(["active", "pending"]), "Whether it is active."),
          record: field(v.string(), "The name of the TXT record that proves the domain."),
          token: field(v.string(), "The value that the record needs."),
          reason: field(
            v.nullable(v.string()),
            "Why the last look-up did not verify it; null once it is active.",
            "no TXT record",
          ),
        }),
      ),
      v.description(
        "Each domain with its state. A `pending` domain becomes active once the TXT record `record` has the value `token`; `reason` says why the last look-up failed.",
      ),
    ),
  ),
  url: optionalField(
    v.nullable(v.string()),
    "The URL of the live app; null if none is live, absent without a runtime.",
    "https://production-web.apps.example.com",
  ),
  ...ofRelease,
  root: optionalField(v.nullable(v.string()), "The folder of the repository that is built; null for all of it."),
  preview: v.optional(preview),
  protect: optionalField(
    v.nullable(
      v.object({
        user: field(v.string(), "The user name that a visitor gives."),
        password: field(v.literal(redaction), "Always `[redacted]`: only a hash is stored."),
      }),
    ),
    "The Basic authentication in front of the app; the password is never shown.",
  ),
});
export const scheduleRun = v.object({
  id: field(id("run"), "The id of the run."),
  name: field(v.string(), "The name of its schedule.", "clean"),
  status: field(v.picklist(["running", "succeeded", "failed"]), "The status."),
  started_at: field(datetime(), "When it started."),
  ended_at: field(v.nullable(datetime()), "When it ended; null while it runs."),
  exit_code: field(v.nullable(v.number()), "The exit code; null while it runs, and if a signal or a limit ended it."),
});
