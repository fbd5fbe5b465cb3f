import { operationsOf } from "../kernel/operation.ts";
import { event, eventsQuery } from "./schema.ts";
import type { EventsService } from "./service.ts";

const operation = operationsOf<{ events: EventsService }>();

export const eventsOperations = [
  operation({
    id: "events.list",
    summary: "List the events that happened, newest first",
    method: "GET",
    path: "/events",
    needs: "webhooks:read",
    answers: "list",
    addition: true,
    query: eventsQuery,
    result: event,
    problems: [],
    run: ({ query }, { events }, caller) => events.list(caller, query),
  }),
];
