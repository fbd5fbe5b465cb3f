import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { datetime, id, oneOf, paging } from "../../kernel/validation.ts";
import { catalog, type EventName } from "./catalog.ts";

export const event = field(
  v.object({
    id: field(id("evt"), "The identifier of the event."),
    event: field(v.string(), "The name of the event."),
    timestamp: field(datetime(), "When the event happened."),
    data: field(v.record(v.string(), v.unknown()), "The data of the event, which depends on its name."),
  }),
  "An event that happened. `WebhookPayload` is the body in which receivers get it.",
);
const names = Object.keys(catalog) as EventName[];
export const eventsQuery = v.object({
  ...paging(),
  event: optionalField(oneOf(names), "Only events of this name."),
});

/** The live-stream messages that are not events: a deployment or a generation entered a state. */
export const stateChanges = { deployment: "deployment.status", generation: "generation.status" } as const;
/** The names that `?events=` of a live stream accepts. */
export const streamNames = ["*", ...Object.keys(catalog), ...Object.values(stateChanges)];

const choices = streamNames.slice(1).join(", ");

/** The id before the first event: it sorts before every other. */
export const beforeFirst = `evt_${"0".repeat(26)}`;

/** `?events=deployment.started,project.created&after=evt_…` */
export const streamQuery = v.object({
  events: optionalField(
    v.pipe(
      v.string("must be one list, separated by commas"),
      v.check(
        (text) => text.split(",").every((name) => streamNames.includes(name.trim())),
        `must be names separated by commas: * or of ${choices}`,
      ),
      v.transform((text) => text.replaceAll(/\s/g, "")),
    ),
    "The names of the messages to receive, separated by commas; `*`, all of them, by default.",
  ),
  after: optionalField(
    v.pipe(v.string("must be given once"), v.regex(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/, "must be the id of an event")),
    `The last event that you received; all later events are sent first. \`${beforeFirst}\` stands for the beginning. Without it, only new events are sent.`,
  ),
});
