import { operationsOf } from "../kernel/operation.ts";
import { event, eventsQuery, streamQuery } from "./schema.ts";
import type { EventsService } from "./service.ts";

const operation = operationsOf<{ events: EventsService }>();

/** The live stream. `live/` serves its WebSocket connections; this answers plain requests. */
export const stream = operation({
  id: "events.stream",
  summary: "Open a WebSocket that tells events and state changes as they happen",
  method: "GET",
  path: "/stream",
  needs: "webhooks:read",
  answers: "socket",
  addition: true,
  query: streamQuery,
  problems: ["upgrade_required"],
  run: (_, { events }) => events.withoutUpgrade(),
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
    query: eventsQuery,
    result: event,
    problems: [],
    run: ({ query }, { events }, caller) => events.list(caller, query),
  }),
  stream,
];
