import * as v from "valibot";
import { parseEndpointUrl } from "../../drivers/outbound/target.ts";
import { field } from "../../kernel/field.ts";
import { listOf } from "../../kernel/size-limits.ts";
import { datetime, documentedAs, id, instantText, rulesInForce, textOf } from "../../kernel/validation.ts";
import { catalog, type EventName } from "../events/catalog.ts";
import { lifecycle } from "./states.ts";

const eventNames = ["*", ...(Object.keys(catalog) as EventName[])] as const;

/** "At least one known name or `*`; duplicates fold." */
export const eventsRule = v.pipe(
  listOf(v.picklist(eventNames, `must be one of ${eventNames.join(", ")}`), 10_000, "must be a list of event names"),
  v.minLength(1, "must have at least one event name, or *"),
  v.transform((names) => [...new Set(names)]),
);

/** The URL of an endpoint. Stored as its normalized `href`, never as the raw text. */
export const urlRule = v.pipe(
  textOf(1, 2048),
  documentedAs({ format: "uri", pattern: "^[Hh][Tt][Tt][Pp][Ss]://" }),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const checked = parseEndpointUrl(dataset.value, rulesInForce().trusted);
    if ("href" in checked) return checked.href;
    addIssue({ message: checked.problem });
    return NEVER;
  }),
);

export const secretRule = textOf(1, 256);

const attempt = v.object({
  number: field(v.number(), "The number of the attempt, from 1."),
  at: field(datetime(), "When the attempt began."),
  status: field(v.nullable(v.number()), "The HTTP status of the answer; null without an answer.", 500),
  duration_ms: field(v.number(), "How long the attempt took, in milliseconds."),
  error: field(v.nullable(v.string()), "Why the attempt failed; null for a success."),
  response: field(v.nullable(v.string()), "The beginning of the answer's body, without secrets; null without a body."),
});

export const delivery = field(
  v.object({
    id: field(id("dlv"), "The identifier of the delivery, the same in all its attempts."),
    event: field(v.string(), "The event that is sent."),
    status: field(v.picklist(lifecycle.states), "The status of the delivery; `pending` until it has ended."),
    created_at: field(datetime(), "When the delivery was created."),
    next_attempt_at: field(v.nullable(datetime()), "When the next attempt is due; null after the last one."),
    attempts: field(v.array(attempt), "The attempts so far, oldest first; at most the last 100."),
  }),
  "A delivery to a webhook or an integration, with its attempts.",
);

export const deliveryDetail = field(
  v.object({
    ...delivery.entries,
    request: field(
      v.object({
        url: field(v.string(), "The URL that it is sent to; secrets in it are redacted."),
        headers: field(v.record(v.string(), v.string()), "The headers, by name."),
        body: field(v.string(), "The body, as it is signed and sent."),
      }),
      "The request that sends it.",
    ),
  }),
  "A delivery with what it sends.",
);

/** The arguments of the job that ends a simulated timeout. `rung` is null for a redelivery. */
export const openAttempt = v.object({
  delivery_id: v.string(),
  number: v.number(),
  rung: v.nullable(v.number()),
  at: v.string(),
  error: v.nullable(v.string()),
  duration_ms: v.number(),
});
export const recovery = v.object({
  since: field(
    v.pipe(instantText(), documentedAs({ format: "date-time" })),
    "Every failed, abandoned or skipped delivery since this time is sent again.",
  ),
});
export const recovered = field(
  v.object({ queued: field(v.number(), "The number of deliveries that are sent again.") }),
  "How many deliveries a recovery sends.",
);
