import * as v from "valibot";
import { parseEndpointUrl } from "../drivers/outbound/target.ts";
import { catalog, type EventName } from "../events/catalog.ts";
import { parseInstant } from "../kernel/clock.ts";
import { datetime, documentedAs, id, paging, rulesInForce, textOf } from "../kernel/validation.ts";
import { lifecycle } from "./states.ts";

const eventNames = ["*", ...(Object.keys(catalog) as EventName[])] as const;

/** "At least one known name or `*`; duplicates fold." */
export const eventsRule = v.pipe(
  v.array(v.picklist(eventNames, `must be one of ${eventNames.join(", ")}`), "must be a list of event names"),
  v.minLength(1, "must have at least one event name, or *"),
  v.transform((names) => [...new Set(names)]),
);

/** The URL of an endpoint. Stored as its normalized `href`, never as the raw text. */
export const urlRule = v.pipe(
  textOf(1, 2048),
  documentedAs({ format: "uri", pattern: "^https://" }),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const checked = parseEndpointUrl(dataset.value, rulesInForce().trusted);
    if ("href" in checked) return checked.href;
    addIssue({ message: checked.problem });
    return NEVER;
  }),
);

/** "`secret`: 1–256 characters." */
export const secretRule = textOf(1, 256);

/** CONTRACT section 9: "A delivery is …". */
export const delivery = v.object({
  id: id("dlv"),
  event: v.string(),
  status: v.picklist(lifecycle.states),
  created_at: datetime(),
  next_attempt_at: v.nullable(datetime()),
  attempts: v.array(
    v.object({
      number: v.number(),
      at: datetime(),
      status: v.nullable(v.number()),
      duration_ms: v.number(),
      error: v.nullable(v.string()),
      response: v.nullable(v.string()),
    }),
  ),
});

/** A delivery with what it sends. */
export const deliveryDetail = v.object({
  ...delivery.entries,
  request: v.object({ url: v.string(), headers: v.record(v.string(), v.string()), body: v.string() }),
});

export const byDelivery = v.object({ id: v.string(), dlv: v.string() });
export const deliveriesQuery = v.object(paging());
export const recovery = v.object({
  since: v.pipe(
    v.string("must be a string"),
    v.check((text) => parseInstant(text) !== undefined, "must be an instant such as 2026-01-01T00:00:00Z"),
    documentedAs({ format: "date-time" }),
  ),
});
export const recovered = v.object({ queued: v.number() });
