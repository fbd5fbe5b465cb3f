import * as v from "valibot";
import type { DeploymentDriver } from "../drivers/deployment/contract.ts";
import type { GenerationDriver } from "../drivers/generation/contract.ts";
import { parseAllow } from "../drivers/outbound/allowed-addresses.ts";
import { parseHttpUrl } from "../drivers/outbound/target.ts";
import { finished } from "../generations/schema.ts";
import { oneOf, textLike, textOf } from "../kernel/validation.ts";
import { described, duration, positive } from "./option-types.ts";

const allowed = v.pipe(
  v.string("must be a string"),
  v.rawCheck(({ dataset, addIssue }) => {
    try {
      if (dataset.typed) parseAllow([dataset.value]);
    } catch (error) {
      addIssue({ message: (error as Error).message });
    }
  }),
);
const fraction = v.pipe(
  v.number("must be a number"),
  v.minValue(0, "must be from 0 to 0.1"),
  v.maxValue(0.1, "must be from 0 to 0.1"),
);

const driver = v.custom<DeploymentDriver>(
  (value) => ["delay", "step"].every((name) => typeof (value as Record<string, unknown> | null)?.[name] === "function"),
  "must have the functions delay and step",
);

export const deployments = v.optional(
  v.strictObject({
    concurrency: v.optional(
      described(positive(10_000), "How many deployments build or roll out at a time, over all."),
      4,
    ),
    autoRollback: v.optional(
      described(
        v.boolean(),
        "A failed health check ends in `rolled_back` where a previous release stays live; `false` makes it `failed`.",
      ),
      true,
    ),
    driver: v.optional(described(driver, "What builds and rolls out; simulated, where it is not set.")),
  }),
  {},
);

const generationDriver = v.custom<GenerationDriver>(
  (value) =>
    ["delay", "submit", "poll", "cancel"].every(
      (name) => typeof (value as Record<string, unknown> | null)?.[name] === "function",
    ),
  "must have the functions delay, submit, poll and cancel",
);

const httpUrl = v.pipe(
  v.string("must be a string"),
  v.check(
    (text) => parseHttpUrl(text)?.search === "" && new URL(text).hash === "",
    "must be an http or https URL such as http://localhost:8080/v1",
  ),
);
const sizes = v.array(textLike(9, /^[1-9]\d{1,3}x[1-9]\d{1,3}$/, "must be a size such as 1024x1536"), "must be a list");
const backend = v.strictObject({
  type: oneOf(["openai"]),
  url: httpUrl,
  key: v.optional(textLike(4096, /^[\x21-\x7e]+$/, "must be a key of visible ASCII characters")),
  models: v.record(
    textOf(1, 255),
    v.strictObject({
      model: v.optional(textOf(1, 255)),
      price: v.optional(v.pipe(v.number("must be a number"), v.minValue(0, "must be 0 or more"), v.finite()), 0),
      sizes: v.optional(sizes),
      extra: v.optional(v.record(v.string(), v.unknown())),
    }),
  ),
  downloads: v.optional(
    v.array(
      v.pipe(
        httpUrl,
        v.transform((text) => new URL(text).origin),
      ),
      "must be a list",
    ),
    [],
  ),
  timeout: v.optional(duration, "5m"),
});

export const generations = v.optional(
  v.strictObject({
    concurrency: v.optional(
      described(positive(10_000), "How many generations are in progress at a time, over all."),
      16,
    ),
    finishedStatus: v.optional(
      described(oneOf(finished), "How the interface calls a finished generation: `completed` or `succeeded`."),
      "completed",
    ),
    models: v.optional(
      described(oneOf(["open", "strict"]), "`open` runs any model; `strict` refuses those that are not known."),
      "open",
    ),
    retention: v.optional(
      described(duration, "How long files are kept after a generation has finished, such as `30d`."),
      "30d",
    ),
    backends: v.optional(
      described(v.record(textOf(1, 64), backend), "Servers that run models of theirs; see the chapter on generations."),
      {},
    ),
    driver: v.optional(
      described(generationDriver, "What runs all other models; they are painted offline, where it is not set."),
    ),
  }),
  {},
);

export const outbound = v.optional(
  v.strictObject({
    allow: v.optional(
      described(
        v.array(allowed, "must be a list"),
        "Addresses that may be sent to although they are not public: CIDRs and `host:port`. Link-local and metadata addresses stay closed.",
      ),
      [],
    ),
  }),
  {},
);

export const deliveries = v.optional(
  v.strictObject({
    jitter: v.optional(
      described(fraction, "By how much a delay between tries may be longer, at random; none under a manual clock."),
      0.1,
    ),
    retention: v.optional(
      described(duration, "How long deliveries are kept once they have come to their end, with their tries."),
      "30d",
    ),
    retryAfter: v.optional(
      described(
        v.boolean(),
        "A receiver's `Retry-After` lengthens a delay between tries, up to two hours; without it the delays are exactly those of the specification.",
      ),
      false,
    ),
    standardWebhooks: v.optional(
      described(v.boolean(), "Signed deliveries carry `webhook-id`, `webhook-timestamp` and `webhook-signature` too."),
      false,
    ),
  }),
  {},
);

export const codeHost = v.optional(
  v.strictObject({
    secret: v.optional(
      described(
        textOf(1, 256),
        "The connected app's secret: signs pushes for integrations without a secret of their own.",
      ),
    ),
  }),
  {},
);
