import * as v from "valibot";
import { eventsRule, secretRule, urlRule } from "../../endpoints/schema.ts";
import { signedJson } from "../../endpoints/signed-json.ts";
import { type IntegrationType, redaction, withoutNulls } from "./integration-type.ts";

const schema = v.object({
  url: urlRule,
  secret: v.optional(v.nullable(secretRule)),
  events: v.optional(eventsRule, ["*"]),
});

/** "`custom` is a webhook with the same body and signature header." */
export const custom: IntegrationType = {
  schema,
  parse(config) {
    const { url, secret, events } = config as v.InferOutput<typeof schema>;
    return {
      name: new URL(url).host,
      events,
      config: { url },
      secrets: withoutNulls({ secret }),
    };
  },
  redacted: ({ secret }) => (secret === undefined ? {} : { secret: redaction }),
  target: ({ config }) => ({ field: "config.url", url: String(config.url) }),
  format: signedJson,
};
