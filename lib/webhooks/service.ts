import type * as v from "valibot";
import type { Outbound } from "../drivers/outbound/outbound.ts";
import type { Endpoints } from "../endpoints/service.ts";
import { invalid } from "../kernel/errors.ts";
import type { Caller } from "../kernel/operation.ts";
import { mapPage, type PageQuery } from "../kernel/page.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import type { newWebhook, webhookChanges } from "./schema.ts";

type Endpoint = Row<"endpoints">;
type NewWebhook = v.InferOutput<typeof newWebhook>;

const family = "webhook";

const view = (row: Endpoint) => ({
  ...row,
  url: (JSON.parse(row.config) as { url: string }).url,
  events: JSON.parse(row.events) as string[],
});

interface Ports {
  readonly store: Store;
  readonly endpoints: Endpoints;
  readonly outbound: Pick<Outbound, "checkUrl">;
}

export type WebhooksService = ReturnType<typeof webhooksService>;

/** Webhooks: signed notifications to HTTPS endpoints. SPEC "Webhooks", CONTRACT section 6. */
export function webhooksService({ store, endpoints, outbound }: Ports) {
  /** Resolves the host: in the mode start its addresses must be public. Before the transaction, which must not wait. */
  const refuseUrl = async (url: string | undefined) => {
    const problem = url === undefined ? undefined : await outbound.checkUrl(url);
    if (problem) throw invalid("url", problem);
  };

  const insert = (tx: Tx, organization_id: string, { url, events, secret }: NewWebhook, status?: Endpoint["status"]) =>
    endpoints.insert(tx, family, organization_id, family, {
      name: new URL(url).host,
      status,
      events,
      config: { url },
      secrets: secret ? { secret } : {},
    });

  return {
    insert,
    list: async (caller: Caller, query: PageQuery) => mapPage(await endpoints.list(family, caller, query), view),
    get: async (caller: Caller, id: string) => view(await endpoints.get(family, caller, id)),

    async create(caller: Caller, body: NewWebhook) {
      await refuseUrl(body.url);
      return store.transaction(caller, async (tx) => view(await insert(tx, caller.organization_id, body)));
    },

    async update(caller: Caller, id: string, changes: v.InferOutput<typeof webhookChanges>) {
      await refuseUrl(changes.url);
      return store.transaction(caller, async (tx) => {
        const before = await endpoints.get(family, caller, id, tx);
        const { config, secrets } = endpoints.settingsOf(before);
        const url = changes.url ?? String(config.url);
        const secret = changes.secret === undefined ? secrets.secret : changes.secret;
        return view(
          await endpoints.update(tx, before, {
            name: new URL(url).host,
            status: changes.status,
            events: changes.events ?? (JSON.parse(before.events) as string[]),
            config: { url },
            secrets: secret ? { secret } : {},
          }),
        );
      });
    },

    remove: (caller: Caller, id: string) => endpoints.remove(family, caller, id),
  };
}
