import type { Caller } from "../kernel/operation.ts";
import { mapPage, type PageQuery, paginate } from "../kernel/page.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { eventsRepository } from "./repository.ts";

const view = ({ id, event, timestamp, data }: Row<"events">) => ({
  id,
  event,
  timestamp,
  data: JSON.parse(data) as Record<string, unknown>,
});

export type EventsService = ReturnType<typeof eventsService>;

/** The events that happened, to be read. Announcing is the bus's. */
export function eventsService({ store }: { store: Store }) {
  const events = store.using(eventsRepository);
  return {
    async list({ organization_id }: Caller, query: PageQuery) {
      return mapPage(await paginate(query, "events", { organization_id }, events().list), view);
    },
  };
}
