import * as v from "valibot";
import { duration, option } from "./option-types.ts";

const fraction = v.pipe(
  v.number("must be a number"),
  v.minValue(0, "must be from 0 to 0.1"),
  v.maxValue(0.1, "must be from 0 to 0.1"),
);

export const deliveries = v.optional(
  v.strictObject({
    jitter: v.optional(
      option(fraction, {
        help: "Random addition to the delay between two delivery attempts, as a fraction of the delay. A manual clock adds none.",
      }),
      0.1,
    ),
    retention: v.optional(
      option(duration, { help: "How long a delivery is stored after it has ended, with its attempts." }),
      "30d",
    ),
    retryAfter: v.optional(
      option(v.boolean(), {
        help: "Let a receiver's `Retry-After` extend the delay before the next attempt, up to two hours. `false` ignores the header.",
      }),
      false,
    ),
    standardWebhooks: v.optional(
      option(v.boolean(), {
        help: "Send the headers `webhook-id`, `webhook-timestamp` and `webhook-signature` of Standard Webhooks with signed deliveries too. `false` leaves them out.",
      }),
      true,
    ),
  }),
  {},
);
