import { createHash } from "node:crypto";
import { hostname } from "node:os";
import type { AppKey } from "../../features/environments/live-apps.ts";
import type { RuntimeJobs } from "../../jobs/runtime-jobs.ts";
import { isoOf } from "../../kernel/clock.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository, runtimesRepository } from "./repository.ts";

type Registered = Row<"runtimes">;

/** The duration of a lease. A server renews it three times within this time. */
const lease_ms = milliseconds("15s");
/** Another runtime takes over after this time, which is longer than a restart of a server. */
const absence_ms = milliseconds("60s");

interface Ports extends Pick<AppPorts, "store" | "clock" | "appsUrl"> {
  readonly jobs: RuntimeJobs;
  readonly own: { readonly id: string; readonly names: string } | undefined;
  readonly tellOthers: (tx: Tx) => void;
}

export type Registry = ReturnType<typeof createRegistry>;

/** The runtimes of the servers on one database, stored as rows with a lease. */
export function createRegistry({ store, clock, jobs, own, appsUrl, tellOthers }: Ports) {
  const runtimes = store.using(runtimesRepository);
  const apps = store.using(appsRepository);
  let known: readonly Registered[] = [];

  const isUp = ({ id, lease_until }: Registered) => id === own?.id || lease_until > clock.iso();
  const isGone = (one: Registered) => !isUp(one) && Date.parse(one.lease_until) + absence_ms <= clock.now();

  const look = async () => {
    known = await runtimes().all({});
    return known;
  };

  /** Adds this server's runtime or renews its lease. Returns whether the other servers saw it as down. */
  const renew = async (tx: Tx): Promise<boolean> => {
    if (!own) return false;
    const present = await runtimes(tx).find({ id: own.id });
    const wasDown = !present || present.lease_until <= clock.iso();
    if (present && !wasDown) {
      await runtimes(tx).renew({ id: own.id, until: isoOf(clock.now() + lease_ms) });
      return false;
    }
    await runtimes(tx).remove({ id: own.id });
    await runtimes(tx).insert({
      ...own,
      host: hostname(),
      apps_url: appsUrl() ?? "",
      lease_since: clock.iso(),
      lease_until: isoOf(clock.now() + lease_ms),
    });
    tellOthers(tx);
    return true;
  };

  return {
    own: own?.id,
    look,
    renew: async () => own !== undefined && store.transaction("rows", renew),

    /** The runtimes, as of the last `look`. */
    known: () => known,
    find: (id: string | null) => known.find((one) => one.id === id),
    isUp,

    async isHeld(tx: Tx): Promise<boolean> {
      const all = await runtimes(tx).all({});
      return all.length > 0 && !all.some(isUp);
    },

    /** The driver of deployments; undefined if no server has a runtime, in which case they are simulated. */
    names: (): string | undefined => own?.names ?? known[0]?.names,

    /** Call at a start, before any job runs: takes over the work of this runtime's earlier process. */
    register: () =>
      store.transaction("rows", async (tx) => {
        if (!own) return;
        await runtimes(tx).remove({ id: own.id });
        await renew(tx);
        await apps(tx).adopt({ runtime_id: own.id });
        await jobs.endLeases(tx, own.id, clock.iso());
      }),

    /** Call at an orderly shutdown: this runtime gets no new work. */
    unregister: () =>
      store.transaction("rows", async (tx) => {
        if (!own) return;
        await runtimes(tx).renew({ id: own.id, until: clock.iso() });
        tellOthers(tx);
      }),

    /**
     * Chooses the runtime for an environment: its current one, or another one if that is down. Null if no server has a
     * runtime; undefined if none is up.
     */
    async choose(tx: Tx, { project_id, environment }: Omit<AppKey, "organization_id">, ensure: () => Promise<void>) {
      const all = await runtimes(tx).all({});
      if (all.length === 0) return null;
      await ensure();
      const up = all.filter(isUp);
      const present = (await apps(tx).find({ project_id, environment }))?.runtime_id;
      const spread = createHash("sha256").update(`${project_id} ${environment}`).digest().readUInt32BE();
      const chosen = (up.find(({ id }) => id === present) ?? up[spread % Math.max(1, up.length)])?.id;
      if (chosen !== undefined && chosen !== present)
        await apps(tx).setRuntime({ project_id, environment, runtime_id: chosen });
      return chosen;
    },

    /**
     * Takes over from runtimes that stay down. Does nothing if this runtime was down itself until a moment ago, because
     * the others may also return soon. Returns the hosts of their servers.
     */
    async takeOver(): Promise<readonly string[]> {
      if (!known.some(isGone)) return [];
      return store.transaction("all", async (tx) => {
        const all = await runtimes(tx).all({});
        const self = all.find(({ id }) => id === own?.id);
        if (!self || Date.parse(self.lease_since) + absence_ms > clock.now()) return [];
        const taken: string[] = [];
        for (const { id, host } of all.filter(isGone)) {
          // Locks the row first, as `register` does, because the server may have returned.
          if ((await runtimes(tx).remove({ id })) === 0) continue;
          await apps(tx).moveApps({ from: id, to: self.id });
          await jobs.moveAdvances(tx, id, self.id);
          taken.push(host);
        }
        if (taken.length > 0) tellOthers(tx);
        return taken;
      });
    },

    /** Removes the runtimes that are down, except those of the kind `names`, which may return. */
    async forget(names?: string): Promise<void> {
      const isForgotten = (one: Registered) => !isUp(one) && one.names !== names;
      if (!(await look()).some(isForgotten)) return;
      await store.transaction("all", async (tx) => {
        for (const { id } of (await runtimes(tx).all({})).filter(isForgotten)) {
          if ((await runtimes(tx).remove({ id })) === 0) continue;
          await apps(tx).moveApps({ from: id, to: null });
          await jobs.moveAdvances(tx, id, undefined);
        }
        tellOthers(tx);
      });
    },
  };
}
