import * as v from "valibot";
import { datetime, id, oneOf, paging } from "../kernel/validation.ts";
import { catalog, type EventName } from "./catalog.ts";

/** CONTRACT section 9, `GET /events`. */
export const event = v.object({
  id: id("evt"),
  event: v.string(),
  timestamp: datetime(),
  data: v.record(v.string(), v.unknown()),
});
const names = Object.keys(catalog) as EventName[];
export const eventsQuery = v.object({ ...paging(), event: v.optional(oneOf(names)) });

/** The messages of a live stream besides events: a deployment or a generation entered a state. */
export const stateChanges = { deployment: "deployment.status", generation: "generation.status" } as const;
/** The names that `?events=` of a live stream accepts. */
export const streamNames = ["*", ...Object.keys(catalog), ...Object.values(stateChanges)];

const known = streamNames.slice(1).join(", ");

/** `?events=deployment.started,project.created&after=evt_…` */
export const streamQuery = v.object({
  events: v.optional(
    v.pipe(
      v.string("must be one list, separated by commas"),
      v.check(
        (text) => text.split(",").every((name) => streamNames.includes(name)),
        `must be names separated by commas: * or of ${known}`,
      ),
    ),
  ),
  after: v.optional(
    v.pipe(v.string("must be given once"), v.regex(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/, "must be the id of an event")),
  ),
});
