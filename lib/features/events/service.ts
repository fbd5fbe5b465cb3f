import { Problem } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/operation.ts";
import { mapPage, type PageQuery, paginate } from "../../kernel/page.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "../../store/tables.ts";
import type { EventName } from "./catalog.ts";
import { eventsRepository } from "./repository.ts";
import { beforeFirst } from "./schema.ts";

/** Lists every field, because live streams send the view without a schema. */
const view = ({ id, event, timestamp, data }: Row<"events">) => ({
  id,
  event,
  timestamp,
  data: JSON.parse(data) as Record<string, unknown>,
});

export type EventsService = ReturnType<typeof eventsService>;

/** Reads events. The bus announces them. */
export function eventsService({ store }: { store: Store }) {
  const events = store.using(eventsRepository);
  return {
    async list(
      { organization_id }: Caller,
      { event, ...page }: PageQuery & { readonly event?: EventName | undefined },
    ) {
      return mapPage(await paginate(page, "events", { organization_id, event }, events().list), view);
    },

    /** At most `limit` events after this one, oldest first; undefined if the organization has no such event. */
    async since(organization_id: string, after: string, limit: number) {
      if (after !== beforeFirst && !(await events().find({ organization_id, id: after }))) return undefined;
      const rows = await events().since.rows({ organization_id }, { after, page: 1, per_page: limit - 1 });
      return rows.map(view);
    },

    /** Answers a stream request that is not a WebSocket upgrade. */
    async withoutUpgrade(): Promise<never> {
      throw new Problem("upgrade_required", "this path is a WebSocket; connect with a WebSocket client", {
        headers: { upgrade: "websocket", connection: "upgrade", "sec-websocket-version": "13" },
      });
    },
  };
}
