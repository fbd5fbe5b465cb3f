import * as v from "valibot";
import { duration, group, option } from "./option-types.ts";

const fraction = v.pipe(
  v.number("must be a number"),
  v.minValue(0, "must be from 0 to 0.1"),
  v.maxValue(0.1, "must be from 0 to 0.1"),
);

export const deliveries = group({
  jitter: option(fraction, {
    default: 0.1,
    help: "Random addition to the delay between two delivery attempts, as a fraction of the delay. A manual clock adds none.",
  }),
  retention: option(duration, {
    default: "30d",
    help: "How long a delivery is stored after it has ended, with its attempts.",
  }),
  retryAfter: option(v.boolean(), {
    default: false,
    help: "Let a receiver's `Retry-After` extend the delay before the next attempt, up to two hours. `false` ignores the header.",
  }),
  standardWebhooks: option(v.boolean(), {
    default: true,
    help: "Send the headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of Standard Webhooks with signed deliveries too. `false` leaves them out.",
  }),
});
