import * as v from "valibot";
import { datetime, id, paging } from "../kernel/api.ts";
import { operationsOf } from "../kernel/operation.ts";
import type { EventsService } from "./service.ts";

const operation = operationsOf<{ events: EventsService }>();

const event = v.object({
  id: id("evt"),
  event: v.string(),
  timestamp: datetime(),
  data: v.record(v.string(), v.unknown()),
});

export const eventsOperations = [
  operation({
    id: "events.list",
    summary: "List the events that happened, newest first",
    method: "GET",
    path: "/events",
    needs: "webhooks:read",
    answers: "list",
    addition: true,
    query: v.object(paging()),
    result: event,
    problems: [],
    run: ({ query }, { events }, caller) => events.list(caller, query),
  }),
];
