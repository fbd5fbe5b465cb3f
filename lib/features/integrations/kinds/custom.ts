import * as v from "valibot";
import { field, optionalField } from "../../../kernel/field.ts";
import { redaction } from "../../../kernel/secrets/secret-values.ts";
import { asSecrets, headersIn, headersRule, shownHeaders } from "../../deliveries/custom-headers.ts";
import { eventsRule, secretRule, urlRule } from "../../deliveries/schema.ts";
import { signedJson } from "../../deliveries/signed-json.ts";
import { type IntegrationType, withoutNulls } from "./integration-type.ts";

const schema = v.object({
  url: field(urlRule, "The https URL that events are posted to."),
  secret: optionalField(v.nullable(secretRule), "The secret that signs each delivery; without it, none is signed."),
  headers: optionalField(
    v.nullable(headersRule),
    "Headers that go with every delivery, by their names. Without them, none are added. null removes all.",
  ),
  events: v.optional(field(eventsRule, "The events to send, or `*` for all, the default."), ["*"]),
});

/** "`custom` is a webhook with the same body and signature header." */
export const custom: IntegrationType = {
  schema,
  parse(config) {
    const { url, secret, headers, events } = config as v.InferOutput<typeof schema>;
    return {
      name: new URL(url).host,
      events,
      config: { url },
      secrets: { ...withoutNulls({ secret }), ...asSecrets(headers ?? {}) },
    };
  },
  redacted: ({ secret, ...rest }) => ({
    ...(secret !== undefined && { secret: redaction }),
    ...shownHeaders(Object.keys(headersIn(rest))),
  }),
  target: ({ config }) => ({ field: "config.url", url: String(config.url) }),
  format: signedJson,
};
