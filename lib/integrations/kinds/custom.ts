import * as v from "valibot";
import { eventsRule, secretRule, urlRule } from "../../endpoints/schema.ts";
import { signed } from "../../endpoints/signed-json.ts";
import { given, hidden, type IntegrationType } from "./integration-type.ts";

const schema = v.object({
  url: urlRule,
  secret: v.optional(v.nullable(secretRule)),
  events: v.optional(eventsRule, ["*"]),
});

/** "`custom` is a webhook with the same body and signature header." */
export const custom: IntegrationType = {
  schema,
  parts(config) {
    const { url, secret, events } = config as v.InferOutput<typeof schema>;
    return { name: new URL(url).host, events, config: { url }, secrets: given({ secret }) as Record<string, string> };
  },
  redacted: ({ secret }) => (secret === undefined ? {} : { secret: hidden }),
  url: ({ config }) => ({ field: "config.url", url: String(config.url) }),
  kind: signed,
};
