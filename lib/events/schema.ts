import * as v from "valibot";
import { datetime, id, paging } from "../kernel/validation.ts";
import { catalog } from "./catalog.ts";

/** CONTRACT section 9, `GET /events`. */
export const event = v.object({
  id: id("evt"),
  event: v.string(),
  timestamp: datetime(),
  data: v.record(v.string(), v.unknown()),
});
export const eventsQuery = v.object(paging());

/** What a live stream tells beside the events: a piece of work entered a state. */
export const moved = { deployment: "deployment.status", generation: "generation.status" } as const;
/** What a live stream can be asked for. */
export const names = ["*", ...Object.keys(catalog), ...Object.values(moved)];

const unknown = names.slice(1).join(", ");

/** `?events=deployment.started,project.created&after=evt_…` */
export const streamQuery = v.object({
  events: v.optional(
    v.pipe(
      v.string("must be one list, separated by commas"),
      v.check(
        (text) => text.split(",").every((name) => names.includes(name)),
        `must be names separated by commas: * or of ${unknown}`,
      ),
    ),
  ),
  after: v.optional(
    v.pipe(v.string("must be given once"), v.regex(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/, "must be the id of an event")),
  ),
});
