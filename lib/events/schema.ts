import * as v from "valibot";
import { datetime, id, paging } from "../kernel/api.ts";

/** CONTRACT section 9, `GET /events`. */
export const event = v.object({
  id: id("evt"),
  event: v.string(),
  timestamp: datetime(),
  data: v.record(v.string(), v.unknown()),
});
export const eventsQuery = v.object(paging());
