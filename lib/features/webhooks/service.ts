import type * as v from "valibot";
import type { Outbound } from "../../drivers/outbound/outbound.ts";
import { isoOf } from "../../kernel/clock.ts";
import { invalid } from "../../kernel/errors.ts";
import type { Caller } from "../../kernel/operation.ts";
import { mapLong, type PageQuery } from "../../kernel/page.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { asSecrets, keptHeaders, shownHeaders } from "../deliveries/custom-headers.ts";
import type { Settings } from "../deliveries/delivery-format.ts";
import type { Endpoints } from "../deliveries/service.ts";
import type { newWebhook, webhookChanges } from "./schema.ts";

type Endpoint = Row<"endpoints">;
type NewWebhook = v.InferOutput<typeof newWebhook>;

const family = "webhook";

/** The unencrypted part of the settings. `headers` contains names only. */
interface Config {
  readonly url: string;
  readonly headers?: readonly string[];
  readonly previous_until?: string;
}

const view = (row: Endpoint) => {
  const { url, headers = [] } = JSON.parse(row.config) as Config;
  return { ...row, url, events: JSON.parse(row.events) as string[], ...shownHeaders(headers) };
};

const configOf = (url: string, headers: object, previous_until?: string): { [K in keyof Config]: Config[K] } => {
  const names = Object.keys(headers);
  return { url, ...(names.length > 0 && { headers: names }), ...(previous_until !== undefined && { previous_until }) };
};

interface Ports extends Pick<Core, "store" | "clock"> {
  readonly endpoints: Endpoints;
  readonly outbound: Pick<Outbound, "checkUrl">;
}

export type WebhooksService = ReturnType<typeof webhooksService>;

/** Webhooks: signed notifications to HTTPS endpoints (schema/webhooks.md). */
export function webhooksService({ store, clock, endpoints, outbound }: Ports) {
  /** Looks the host up; not in a transaction, which must not wait for it. */
  const refuseUrl = async (url: string | undefined) => {
    const problem = url === undefined ? undefined : await outbound.checkUrl(url);
    if (problem) throw invalid("url", problem);
  };

  const insert = (
    tx: Tx,
    organization_id: string,
    { url, events, secret, headers }: NewWebhook,
    status?: Endpoint["status"],
  ) =>
    endpoints.insert(tx, family, organization_id, family, {
      name: new URL(url).host,
      status,
      events,
      config: { ...configOf(url, headers ?? {}) },
      secrets: { ...(secret && { secret }), ...asSecrets(headers ?? {}) },
    });

  /** The signing secrets after a change. A new secret replaces the previous one, at once or after the overlap. */
  const signing = (
    { config, secrets }: Settings,
    { secret, keep_previous_for }: v.InferOutput<typeof webhookChanges>,
  ): { readonly secrets: Record<string, string>; readonly previous_until?: string } => {
    if (secret === null) return { secrets: {} };
    const present = secrets.secret;
    if (secret === undefined || (secret === present && keep_previous_for === undefined)) {
      const { previous } = secrets;
      const signs = { ...(present && { secret: present }), ...(previous && { previous }) };
      return { secrets: signs, ...(previous && { previous_until: String(config.previous_until) }) };
    }
    // A repeat of the same change, for example after a lost response, keeps the previous secret valid.
    const isOverlap = String(config.previous_until ?? "") > clock.iso();
    const previous = present === secret ? isOverlap && secrets.previous : present;
    if (keep_previous_for === undefined || !previous) return { secrets: { secret } };
    const previous_until = isoOf(clock.now() + milliseconds(keep_previous_for));
    return { secrets: { secret, previous }, previous_until };
  };

  return {
    insert,
    list: async (caller: Caller, query: PageQuery) =>
      mapLong(endpoints.list(family, caller, query), (rows) => rows.map(view)),
    get: async (caller: Caller, id: string) => view(await endpoints.get(family, caller, id)),

    async create(caller: Caller, body: NewWebhook) {
      await refuseUrl(body.url);
      return store.transaction(caller, async (tx) => view(await insert(tx, caller.organization_id, body)));
    },

    async update(caller: Caller, id: string, changes: v.InferOutput<typeof webhookChanges>) {
      if (changes.keep_previous_for !== undefined && !changes.secret)
        throw invalid(
          "keep_previous_for",
          "must come with a new secret: it says how long the present secret still signs",
        );
      await refuseUrl(changes.url);
      return store.transaction(caller, async (tx) => {
        const before = await endpoints.get(family, caller, id, tx);
        const settings = endpoints.settingsOf(before);
        const from = String(settings.config.url);
        const url = changes.url ?? from;
        const given = changes.headers === null ? {} : changes.headers;
        const headers = keptHeaders(given, settings.secrets, { field: "headers", from, to: url });
        const { secrets, previous_until } = signing(settings, changes);
        return view(
          await endpoints.update(tx, before, {
            name: new URL(url).host,
            status: changes.status,
            events: changes.events ?? (JSON.parse(before.events) as string[]),
            config: { ...configOf(url, headers, previous_until) },
            secrets: { ...secrets, ...asSecrets(headers) },
          }),
        );
      });
    },

    remove: (caller: Caller, id: string) => endpoints.remove(family, caller, id),
  };
}
