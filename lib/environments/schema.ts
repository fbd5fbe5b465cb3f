import * as v from "valibot";
import { field } from "../kernel/field.ts";
import { redaction } from "../kernel/secret-values.ts";
import { listOf, ofFewFields } from "../kernel/size-limits.ts";
import { datetime, documentedAs, id, paging, text, textLike } from "../kernel/validation.ts";
import { ofRelease } from "./running-schema.ts";

/** Programs shorten `.` and `..` in a path, so no URL leads to such an environment. */
export const environmentName = textLike(
  64,
  /^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9._-])[A-Za-z0-9._-]*$/,
  "must be 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen, but not . or ..",
);

const variableName = textLike(
  255,
  /^[A-Za-z_][A-Za-z0-9_]{0,254}$/,
  "must be named with 1 to 255 of A-Z, a-z, 0-9 and underscore, and not begin with a digit",
);
const value = v.pipe(text(), v.maxBytes(32_768, "must have at most 32 KiB"), documentedAs({ maxLength: 32_768 }));

/** Refused as names of variables: JavaScript objects have these properties, and a parser would silently drop them. */
const reserved = ["__proto__", "constructor", "prototype"];

export const mostVariables = 200;

function named<T extends v.GenericSchema>(variable: T) {
  const all = ofFewFields(
    v.record(variableName, variable),
    mostVariables,
    `must have at most ${mostVariables} variables`,
  );
  const isObject = (given: unknown) => typeof given === "object" && given !== null && !Array.isArray(given);
  const object = v.custom<v.InferInput<typeof all>>(isObject, "must be an object");
  const unreserved = v.check<v.InferInput<typeof all>, string>(
    (given) => !reserved.some((name) => Object.hasOwn(given, name)),
    `must not have a variable named ${reserved.join(" or ")}`,
  );
  return v.pipe(object, unreserved, documentedAs(all), all);
}

const given = v.strictObject({
  value: field(value, "The value of the variable."),
  secret: field(v.boolean("must be true or false"), "`true` encrypts the value, and no response shows it."),
});

/** A plain variable is a text; a secret one is `{"value": "…", "secret": true}`. */
export const variables = named(v.union([value, given], 'must be text, or {"value", "secret"}'));

/** A secret as responses show it. Sent back unchanged, it keeps its value. */
const storedSecret = v.strictObject({ secret: field(v.literal(true), "The value is secret, and stays as it is.") });

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const hostName = new RegExp(`^(?:${label}\\.)+(?!\\d+$)${label}$`);
/** A host name in lower case with at least two labels. Names beyond ASCII are written in their xn-- form. */
export const domainName = v.pipe(
  v.string("must be a string"),
  v.toLowerCase(),
  v.check(
    (name) => name.length <= 253 && hostName.test(name),
    "must be a host name such as www.example.com, without scheme and port",
  ),
  documentedAs({ maxLength: 253 }),
);

// `\p{Cc}`, spelled out: patterns without the flag `u` read `\p` as a letter. Lookaheads are avoided too, because some
// other languages lack them.
const control = String.raw`\u0000-\u001f\u007f-\u009f`;
const character = String.raw`[^/\\${control}]`;
const noDot = String.raw`[^/\\.${control}]`;
/** Matches neither `.` nor `..`. */
const folder = String.raw`(${noDot}${character}*|\.${noDot}${character}*|\.\.${character}+)`;
/** A folder in a repository. */
export const rootFolder = textLike(
  255,
  new RegExp(`^${folder}(/${folder})*$`, "u"),
  "must be a folder of the repository such as apps/web: relative, without . and .. and without a slash at its end",
);

// biome-ignore lint/suspicious/noControlCharactersInRegex: a header has none
const plain = /^[^\u0000-\u001f\u007f]{1,255}$/;
const protect = v.strictObject({
  user: field(
    textLike(
      255,
      new RegExp(`^[^:${control}]{1,255}$`, "u"),
      "must be 1 to 255 characters without a colon and control characters",
    ),
    "The user name that a visitor gives.",
  ),
  password: field(
    textLike(255, plain, "must be 1 to 255 characters without control characters"),
    "The password that a visitor gives; `[redacted]` keeps the stored one.",
  ),
});

/** Fields that are left out stay unchanged. */
export const environmentChanges = v.pipe(
  v.object({
    protect: v.optional(
      v.pipe(
        v.nullable(protect),
        v.description(
          "The user and password that every request to the app needs, by Basic authentication; null removes them. Left out, they stay as they are. A password sent as `[redacted]` stays, too.",
        ),
      ),
    ),
    root: v.optional(
      field(
        v.nullable(rootFolder),
        "The folder of the repository that is built, such as `apps/web`; null for all of it. Left out, it stays as it is. Pushes that change nothing below it deploy nothing.",
      ),
    ),
    domains: v.optional(
      v.pipe(
        listOf(domainName, 100, undefined, "must have at most 100 domains"),
        v.description("The complete list of the environment's own host names. Left out, they stay as they are."),
      ),
    ),
    variables: v.optional(
      field(
        named(
          v.union(
            [value, given, storedSecret],
            'must be text, {"value", "secret"}, or {"secret": true} to keep a stored secret',
          ),
        ),
        'All variables: text, or `{"value": "…", "secret": true}`; `{"secret": true}` alone keeps the stored secret. Left out beside another field, they stay as they are.',
      ),
    ),
  }),
  v.forward(
    v.check(
      (changes) => Object.values(changes).some((one) => one !== undefined),
      "is required if no other field is given",
    ),
    ["variables"],
  ),
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
  domains: v.optional(field(v.array(v.string()), "The environment's own host names.")),
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
  url: v.optional(
    field(
      v.nullable(v.string()),
      "The URL of the live app; null if none is live, absent without a runtime.",
      "https://production-web.apps.example.com",
    ),
  ),
  ...ofRelease,
  root: v.optional(field(v.nullable(v.string()), "The folder of the repository that is built; null for all of it.")),
  preview: v.optional(preview),
  protect: v.optional(
    field(
      v.nullable(
        v.object({
          user: field(v.string(), "The user name that a visitor gives."),
          password: field(v.literal(redaction), "Always `[redacted]`: only a hash is stored."),
        }),
      ),
      "The Basic authentication in front of the app; the password is never shown.",
    ),
  ),
});
/** A run of a schedule. */
export const scheduleRun = v.object({
  id: field(id("run"), "The id of the run."),
  name: field(v.string(), "The name of its schedule.", "clean"),
  status: field(v.picklist(["running", "succeeded", "failed"]), "The status."),
  started_at: field(datetime(), "When it started."),
  ended_at: field(v.nullable(datetime()), "When it ended; null while it runs."),
  exit_code: field(v.nullable(v.number()), "The exit code; null while it runs, and if a signal or a limit ended it."),
});
export const environmentsQuery = v.object(paging());
/** The path parameters of an environment. */
export const inProject = v.object({ id: v.string(), name: v.string() });
