import type { Queue } from "../jobs/queue.ts";
import type { Clock } from "../kernel/clock.ts";
import { notFound, Problem } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import { type Outcome, until } from "../kernel/job.ts";
import type { Caller } from "../kernel/operation.ts";
import { type PageQuery, paginate } from "../kernel/page.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Vault } from "../store/encryption.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import type { Settings } from "./endpoint-kind.ts";
import { deliveriesRepository, endpointsRepository, slice } from "./repository.ts";
import { endpointLifecycle } from "./states.ts";

type Endpoint = Row<"endpoints">;
type Key = Pick<Endpoint, "organization_id" | "id">;
export type Family = Exclude<Endpoint["family"], "removed">;

/** CONTRACT section 6: "At most 100 webhooks and 100 integrations an organization". */
const most = 100;
const words = {
  webhook: { one: "webhook", prefix: "wh" },
  integration: { one: "integration", prefix: "int" },
} as const;

/** What of an endpoint can be given; `secrets` as a whole. */
export interface Changes extends Settings {
  readonly name: string;
  /** Default: what it was before; `active` of a new one. */
  readonly status?: Endpoint["status"] | undefined;
  readonly events: readonly string[];
}

/** A send that is under way. */
export interface InFlight {
  readonly signal: AbortSignal;
  land(): void;
}

export type Endpoints = ReturnType<typeof createEndpoints>;

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly queue: Queue;
  readonly vault: Vault;
}

/** Where events go: webhooks and integrations alike. What must not lie readable is encrypted, bound to its row. */
export function createEndpoints({ store, clock, ids, queue, vault }: Ports) {
  const endpoints = store.using(endpointsRepository);
  const deliveries = store.using(deliveriesRepository);
  const place = (id: string) => `endpoints ${id} sealed`;

  const get = async (family: Family, { organization_id }: Pick<Caller, "organization_id">, id: string, tx?: Tx) => {
    const found = await endpoints(tx).find({ organization_id, id, family });
    if (!found) throw notFound(words[family].one);
    return found;
  };

  const configOf = ({ config }: Pick<Endpoint, "config">) => JSON.parse(config) as Settings["config"];
  const settingsOf = (row: Pick<Endpoint, "id" | "config" | "sealed">): Settings => ({
    config: configOf(row),
    secrets: JSON.parse(vault.open(place(row.id), row.sealed)) as Settings["secrets"],
  });

  const nextEpoch = async (tx: Tx, { organization_id, id: endpoint_id, epoch }: Endpoint) => {
    const next = epoch + 1;
    await deliveries(tx).keepLast({ organization_id, endpoint_id, epoch: next });
    return next;
  };

  const flights = new Map<string, Set<AbortController>>();

  /** Takes away a slice of an endpoint's deliveries, and at last the endpoint; whether it is gone. */
  const clear = async (tx: Tx, key: Key) => {
    const emptied = (await deliveries(tx).removeSome({ ...key, endpoint_id: key.id })) < slice;
    if (emptied) await endpoints(tx).remove(key);
    return emptied;
  };

  return {
    get,
    configOf,
    settingsOf,

    /** What is on its way to an endpoint is cut off when the endpoint is deleted. */
    flight(id: string): InFlight {
      const control = new AbortController();
      const others = flights.get(id) ?? new Set();
      flights.set(id, others.add(control));
      const land = () => {
        others.delete(control);
        if (others.size === 0) flights.delete(id);
      };
      return { signal: control.signal, land };
    },

    list: (family: Family, { organization_id }: Caller, query: PageQuery) =>
      paginate(query, `${family}s`, { organization_id, family }, endpoints().list, { everything: true }),

    async insert(tx: Tx, family: Family, organization_id: string, type: Endpoint["type"], given: Changes) {
      if ((await endpoints(tx).count({ organization_id, family })) >= most)
        throw new Problem(
          "limit_reached",
          `an organization has at most ${most} ${words[family].one}s; delete one first`,
        );
      const id = ids.next(words[family].prefix);
      const row: Endpoint = {
        ...{ id, organization_id, family, type, name: given.name, status: given.status ?? endpointLifecycle.initial },
        events: JSON.stringify(given.events),
        config: JSON.stringify(given.config),
        sealed: vault.seal(place(id), JSON.stringify(given.secrets)),
        succeeded_at: null,
        created_at: clock.iso(),
        epoch: 0,
      };
      await endpoints(tx).insert(row);
      return row;
    },

    /** The code-host integration that pushes are posted to; it is found without an organization, which it tells. */
    async forPush(id: string, tx?: Tx) {
      const found = await endpoints(tx).forJob({ id });
      return found?.type === "code_host" ? found : undefined;
    },
    codeHosts: (tx: Tx) => endpoints(tx).ofType({ type: "code_host" }),

    /** Turned off, also where it is off already, what was still to come counts as `skipped`, so that it can be recovered. */
    async update(tx: Tx, before: Endpoint, { name, status, events, config, secrets }: Changes) {
      const epoch = status === "inactive" ? await nextEpoch(tx, before) : before.epoch;
      const after = await endpoints(tx).update({
        ...before,
        ...{ name, status: status ?? before.status, epoch },
        events: JSON.stringify(events),
        config: JSON.stringify(config),
        sealed: vault.seal(place(before.id), JSON.stringify(secrets)),
      });
      return after ?? before;
    },

    /** Those of an organization that are not turned off. */
    active: async (tx: Tx, family: Family, organization_id: string) =>
      (await endpoints(tx).ofOrganization({ organization_id })).filter(
        (row) => row.family === family && row.status === "active",
      ),

    /** Turns one off that no caller turns off: it was abandoned, or the plan does not include it any more. */
    async deactivate(tx: Tx, row: Endpoint) {
      const epoch = await nextEpoch(tx, row);
      await endpoints(tx).update({ ...row, epoch, status: endpointLifecycle.moves.deactivate.to });
    },

    /** "Deleting stops what is pending at once": what is more than a slice is out of sight, and taken away by a job. */
    remove: (family: Family, caller: Caller, id: string) =>
      store.transaction(async (tx) => {
        const row = await get(family, caller, id, tx);
        if (!(await clear(tx, row))) {
          // Of no family and of no type: in no list, not counted, pushed to by nobody, and sent nothing.
          await endpoints(tx).update({ ...row, family: "removed", type: "removed" });
          await queue.add(tx, "endpoints.clear", { organization_id: row.organization_id, id });
        }
        tx.afterCommit(() => {
          for (const control of flights.get(id) ?? []) control.abort("the endpoint was deleted");
        });
      }, caller),

    /** The job `endpoints.clear`, a slice a run. */
    clear: async (key: Key): Promise<Outcome> =>
      until(async (tx) => ((await clear(tx, key)) ? undefined : clock.now())),

    /** It was given up; the rows must not stay for ever. */
    clearLater: (tx: Tx, key: Key) => queue.add(tx, "endpoints.clear", key, 60_000),
  };
}
