import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import { turnsRepository } from "../store/turns.ts";

interface OfOrganization {
  readonly organization_id: string;
}

interface Ports<Work extends OfOrganization> {
  readonly store: Store;
  readonly queue: "deployments" | "generations";
  /** How much work of all organizations runs at a time. */
  readonly concurrency: number;
  /** How much of it may belong to one organization. Default: all of it. */
  readonly concurrencyLimit?: (tx: Tx | undefined, organization_id: string) => Promise<number>;
  readonly running: (tx: Tx | undefined) => Promise<readonly OfOrganization[]>;
  /** The first ready work of the first organization after this one, in the order of their ids. */
  readonly nextReady: (tx: Tx | undefined, after: string) => Promise<Work | undefined>;
  /** Starts work, which is then no longer ready. Answers false if nothing can start at the moment. */
  readonly start: (tx: Tx, work: Work) => Promise<boolean>;
  /** Adds a job that starts this work. Called on PostgreSQL for other organizations than the transaction's. */
  readonly startLater: (tx: Tx, work: Work) => Promise<unknown>;
}

/** Work of all organizations that waits for a slot. Organizations take turns; within one, the oldest starts first. */
export function createAdmission<Work extends OfOrganization>(ports: Ports<Work>) {
  const { queue, concurrency, concurrencyLimit, nextReady } = ports;
  const { hasRowLocks } = ports.store.engine;
  const turns = ports.store.using(turnsRepository);

  const mayHaveMore = async (tx: Tx | undefined, running: readonly OfOrganization[], organization_id: string) => {
    if (!concurrencyLimit) return true;
    const count = running.filter((one) => one.organization_id === organization_id).length;
    return count === 0 || count < (await concurrencyLimit(tx, organization_id));
  };

  const lastTurn = async (tx: Tx | undefined) => (await turns(tx).last({ queue }))?.organization_id ?? "";

  /** Skips organizations that have reached their limit. There are at most as many of them as slots. */
  const nextInTurn = async (tx: Tx | undefined, running: readonly OfOrganization[], last: string) => {
    if (running.length >= concurrency) return undefined;
    let hasWrapped = last === "";
    for (let after = last; ; ) {
      const work = await nextReady(tx, after);
      if (!work || (hasWrapped && last !== "" && work.organization_id > last)) {
        if (hasWrapped) return undefined;
        hasWrapped = true;
        after = "";
        continue;
      }
      const { organization_id } = work;
      if (await mayHaveMore(tx, running, organization_id)) return work;
      after = organization_id;
    }
  };

  return {
    next: async (tx?: Tx): Promise<Work | undefined> => nextInTurn(tx, await ports.running(tx), await lastTurn(tx)),

    /** Call it when the limit is locked. On PostgreSQL, work of other organizations starts in later transactions. */
    async startReady(tx: Tx, organization_id: string | undefined): Promise<void> {
      const running = [...(await ports.running(tx))];
      if (running.length >= concurrency) return;
      const perTurn = hasRowLocks ? Math.ceil((concurrency - running.length) / 8) : 1;
      const before = await lastTurn(tx);
      let last = before;
      let started = 0;
      for (let work = await nextInTurn(tx, running, last); work; work = await nextInTurn(tx, running, last)) {
        const isOwn = !hasRowLocks || work.organization_id === organization_id;
        if (!isOwn) await ports.startLater(tx, work);
        if (!isOwn || !(await ports.start(tx, work))) break;
        running.push(work);
        started += 1;
        if (started >= perTurn) last = work.organization_id;
      }
      if (started > 0 && started < perTurn && organization_id !== undefined) last = organization_id;
      if (last !== before) await turns(tx).set({ queue, organization_id: last });
    },
  };
}
