import * as v from "valibot";
import { eventsRule, secretRule, urlRule } from "../endpoints/schema.ts";
import { endpointLifecycle } from "../endpoints/states.ts";
import { datetime, id, oneOf, paging } from "../kernel/validation.ts";

/** SPEC "Webhook". The secret is write-only. */
export const webhook = v.object({
  id: id("wh"),
  url: v.string(),
  events: v.array(v.string()),
  status: v.picklist(endpointLifecycle.states),
  created_at: datetime(),
});

const secret = v.optional(v.nullable(secretRule));

export const newWebhook = v.object({ url: urlRule, events: eventsRule, secret });
export const webhookChanges = v.object({
  url: v.optional(urlRule),
  events: v.optional(eventsRule),
  /** null removes the secret. */
  secret,
  status: v.optional(oneOf(endpointLifecycle.states)),
});
export const webhooksQuery = v.object(paging());
