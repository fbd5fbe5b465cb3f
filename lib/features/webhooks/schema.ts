import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { milliseconds, parseDuration } from "../../kernel/text/duration.ts";
import { datetime, id, oneOf } from "../../kernel/validation.ts";
import { headersRule } from "../deliveries/custom-headers.ts";
import { eventsRule, secretRule, urlRule } from "../deliveries/schema.ts";
import { endpointLifecycle } from "../deliveries/states.ts";

/** The secret is write-only. */
export const webhook = field(
  v.object({
    id: field(id("wh"), "The identifier of the webhook."),
    url: field(v.string(), "The URL that events are posted to."),
    events: field(v.array(v.string()), "The events that it receives; `*` is all of them."),
    status: field(v.picklist(endpointLifecycle.states), "An inactive webhook receives nothing."),
    created_at: field(datetime(), "When the webhook was created."),
    headers: optionalField(v.record(v.string(), v.string()), "Its own headers, with `[redacted]` for each value."),
  }),
  "An HTTPS endpoint that receives events.",
);

const secret = (meaning: string) => optionalField(v.nullable(secretRule), meaning);
const headers = (meaning: string) => optionalField(v.nullable(headersRule), meaning);
const maxOverlap = milliseconds("7d");
const signs = "The secret that signs each delivery.";

export const newWebhook = v.object({
  url: field(urlRule, "The https URL that events are posted to."),
  events: field(eventsRule, "The events to receive, or `*` for all."),
  secret: secret(`${signs} Without it, deliveries are not signed.`),
  headers: headers("Headers that go with every delivery, by their names. Without them, none are added."),
});
export const webhookChanges = v.object({
  url: optionalField(urlRule, "The URL that events are posted to. Left out, it stays."),
  events: optionalField(eventsRule, "The complete list of events to receive, or `*` for all. Left out, it stays."),
  secret: secret(`${signs} null removes it; left out, it stays.`),
  keep_previous_for: optionalField(
    v.pipe(
      v.string("must be a string"),
      v.check((text) => {
        const ms = parseDuration(text);
        return ms !== undefined && ms > 0 && ms <= maxOverlap;
      }, 'must be a duration of at most 7 days, such as "24h"'),
    ),
    "How long the previous secret also signs, at most `7d`. Without it, the previous secret stops immediately.",
  ),
  headers: headers(
    "All headers that go with every delivery; `[redacted]` keeps a value. null removes all; left out, they stay.",
  ),
  status: optionalField(
    oneOf(endpointLifecycle.states),
    "`inactive` stops deliveries, `active` starts them. Left out, it stays.",
  ),
});
