import { orNotFound, Problem } from "../../kernel/errors.ts";
import { type Outcome, snoozeUntil } from "../../kernel/job.ts";
import { maxEndpoints } from "../../kernel/limits.ts";
import { AbortController } from "../../kernel/node/web.ts";
import type { Caller } from "../../kernel/operation.ts";
import { type PageQuery, paginateLong } from "../../kernel/page.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import { contextOf } from "../../store/sealed-columns.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { Settings } from "./delivery-format.ts";
import { endpointsRepository } from "./endpoint-repository.ts";
import { deliveriesRepository, removalBatch } from "./repository.ts";
import { endpointLifecycle } from "./states.ts";

type Endpoint = Row<"endpoints">;
type Key = Pick<Endpoint, "organization_id" | "id">;
export type Family = Exclude<Endpoint["family"], "removed">;

const idPrefixes = { webhook: "wh", integration: "int" } as const;

const isCodeHost = ({ type }: Pick<Endpoint, "type">) => type === "code_host";

/** The endpoint settings that callers can change. `secrets` replaces all secrets. */
export interface EndpointInput extends Settings {
  readonly name: string;
  /** Default: unchanged, or `active` for a new endpoint. */
  readonly status?: Endpoint["status"] | undefined;
  readonly events: readonly string[];
}

/** Aborted when the endpoint is deleted. */
export interface DeletionSignal {
  readonly signal: AbortSignal;
  release(): void;
}

export type Endpoints = ReturnType<typeof createEndpoints>;

type Ports = Pick<Core, "store" | "clock" | "ids" | "queue" | "feed" | "encryption">;

/** The rows of webhooks and integrations. Each secret is encrypted and bound to its row. */
export function createEndpoints({ store, clock, ids, queue, feed, encryption }: Ports) {
  const endpoints = store.using(endpointsRepository);
  const deliveries = store.using(deliveriesRepository);

  const get = (family: Family, { organization_id }: Pick<Caller, "organization_id">, id: string, tx?: Tx) =>
    orNotFound(endpoints(tx).find({ organization_id, id, family }), family);

  const publish = (tx: Tx, { organization_id, id }: Key) => feed.publish(tx, { kind: "record", organization_id, id });

  const configOf = ({ config }: Pick<Endpoint, "config">) => JSON.parse(config) as Settings["config"];
  const settingsOf = (row: Pick<Endpoint, "id" | "config" | "sealed">): Settings => ({
    config: configOf(row),
    secrets: JSON.parse(encryption.decrypt(contextOf.endpoint(row), row.sealed)) as Settings["secrets"],
  });

  const startEpoch = async (tx: Tx, { organization_id, id: endpoint_id, epoch: before }: Endpoint) => {
    const epoch = before + 1;
    await deliveries(tx).keepLastAttempts({ organization_id, endpoint_id, epoch });
    return epoch;
  };

  /** Turns an endpoint off: a delivery was abandoned, the plan excludes the endpoint, or its project was deleted. */
  const deactivate = async (tx: Tx, row: Endpoint) => {
    const epoch = await startEpoch(tx, row);
    await endpoints(tx).update({ ...row, epoch, status: endpointLifecycle.moves.deactivate.to });
    publish(tx, row);
  };

  const codeHostsOf = async ({ organization_id }: Pick<Endpoint, "organization_id">, tx?: Tx) =>
    (await endpoints(tx).ofOrganization({ organization_id })).filter(isCodeHost);

  const senders = new Map<string, Set<AbortController>>();
  const abortRequests = (id: string) => {
    for (const sender of senders.get(id) ?? []) sender.abort("the endpoint was deleted");
  };
  feed.onWake("removed", abortRequests);

  /** Deletes a batch of deliveries, and with the last batch their endpoint. Returns whether it was the last. */
  const removeBatch = async (tx: Tx, key: Key) => {
    const isLast = (await deliveries(tx).removeBatch({ ...key, endpoint_id: key.id })) < removalBatch;
    if (isLast) await endpoints(tx).remove(key);
    return isLast;
  };

  return {
    get,
    configOf,
    settingsOf,

    deletionSignal(id: string): DeletionSignal {
      const sender = new AbortController();
      const others = senders.get(id) ?? new Set();
      senders.set(id, others.add(sender));
      const release = () => {
        others.delete(sender);
        if (others.size === 0) senders.delete(id);
      };
      return { signal: sender.signal, release };
    },

    list: (family: Family, { organization_id }: Caller, query: PageQuery) =>
      paginateLong(query, `${family}s`, { organization_id, family }, endpoints().list),

    async insert(tx: Tx, family: Family, organization_id: string, type: Endpoint["type"], input: EndpointInput) {
      if ((await endpoints(tx).count({ organization_id, family })) >= maxEndpoints)
        throw new Problem("limit_reached", `an organization has at most ${maxEndpoints} ${family}s; delete one first`);
      const id = ids.next(idPrefixes[family]);
      const row: Endpoint = {
        id,
        organization_id,
        family,
        type,
        name: input.name,
        status: input.status ?? endpointLifecycle.initial,
        events: JSON.stringify(input.events),
        config: JSON.stringify(input.config),
        sealed: encryption.encrypt(contextOf.endpoint({ id }), JSON.stringify(input.secrets)),
        succeeded_at: null,
        created_at: clock.iso(),
        epoch: 0,
      };
      await endpoints(tx).insert(row);
      publish(tx, row);
      return row;
    },

    /** The code-host integration with this identifier, in any organization, because a push names no organization. */
    async codeHost(id: string, tx?: Tx) {
      const endpoint = await endpoints(tx).forJob({ id });
      return endpoint && isCodeHost(endpoint) ? endpoint : undefined;
    },
    codeHosts: () => endpoints().ofType({ type: "code_host" }),
    codeHostsOf,

    /** Turns off the code hosts of a deleted project: they would accept pushes and deploy none. */
    async projectRemoved(tx: Tx, { organization_id, id }: Key) {
      for (const row of await codeHostsOf({ organization_id }, tx))
        if (row.status === "active" && configOf(row).project_id === id) await deactivate(tx, row);
    },

    /** Turning an endpoint off makes its pending deliveries `skipped`, even if it is off already. */
    async update(tx: Tx, before: Endpoint, { name, status, events, config, secrets }: EndpointInput) {
      const epoch = status === "inactive" ? await startEpoch(tx, before) : before.epoch;
      const after = await endpoints(tx).update({
        ...before,
        name,
        status: status ?? before.status,
        events: JSON.stringify(events),
        config: JSON.stringify(config),
        sealed: encryption.encrypt(contextOf.endpoint(before), JSON.stringify(secrets)),
        epoch,
      });
      publish(tx, before);
      return after ?? before;
    },

    active: async (tx: Tx, family: Family, organization_id: string) =>
      (await endpoints(tx).ofOrganization({ organization_id })).filter(
        (row) => row.family === family && row.status === "active",
      ),

    deactivate,

    /** "Deleting stops what is pending at once": a large endpoint is hidden, and a job deletes its rows. */
    remove: (family: Family, caller: Caller, id: string, onRemove = async (_tx: Tx, _row: Endpoint) => {}) =>
      store.transaction(caller, async (tx) => {
        const row = await get(family, caller, id, tx);
        await onRemove(tx, row);
        if (!(await removeBatch(tx, row))) {
          // This family and type hide the endpoint from lists, the limit, pushes and deliveries.
          await endpoints(tx).update({ ...row, family: "removed", type: "removed" });
          await queue.add(tx, "endpoints.clear", { organization_id: row.organization_id, id });
        }
        publish(tx, row);
        tx.afterCommit(() => abortRequests(id));
        feed.wake(tx, "removed", id);
      }),

    /** The job `endpoints.clear`: deletes one batch per run. */
    clear: async (key: Key): Promise<Outcome> =>
      snoozeUntil(async (tx) => ((await removeBatch(tx, key)) ? undefined : clock.now()), key),
  };
}
