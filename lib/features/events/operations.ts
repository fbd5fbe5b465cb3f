import { operationsOf } from "../../kernel/operation.ts";
import { event, eventsQuery, streamQuery } from "./schema.ts";
import type { EventsService } from "./service.ts";

const operation = operationsOf<{ events: EventsService }>();

/** The live stream. `http/streams` serves its WebSockets; this operation answers plain HTTP requests. */
export const stream = operation({
  id: "events.stream",
  summary: "Open a WebSocket for events and state changes",
  description:
    "Upgrades the connection to a WebSocket that sends every event and state change of the organization as it happens, as one JSON message each. `events` selects names; with `after`, the events since that one are sent first. The API key is sent as a header or in the first message. A plain HTTP request is answered 426.",
  route: "GET /stream",
  needs: "webhooks:read",
  answers: "socket",
  query: streamQuery,
  problems: ["upgrade_required"],
  run: (_, { events }) => events.withoutUpgrade(),
});

export const eventsOperations = [
  operation({
    id: "events.list",
    summary: "List events, newest first",
    description:
      "Lists the events of the organization, one page at a time, with the data that webhooks received; `event` selects one name. Events appear here even if nothing subscribed to them.",
    route: "GET /events",
    needs: "webhooks:read",
    answers: "list",
    query: eventsQuery,
    result: event,
    run: ({ query }, { events }, caller) => events.list(caller, query),
  }),
  stream,
];
