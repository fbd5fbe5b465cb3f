import { type FakeTimers, timers } from "../config/options/timers.ts";
import { type Comparison, forkOptions } from "../emulator/control/state-calls.ts";
import { target, targetOf } from "../emulator/control/time-calls.ts";
import type { ForkOptions } from "../emulator/fork-list.ts";
import type { Preview } from "../emulator/preview.ts";
import type { StoredSnapshot } from "../emulator/snapshot-list.ts";
import { checkArgument, record, refuseArgumentsButContext } from "../kernel/validation.ts";
import type { ServiceInstance } from "./service-instance.ts";

/** Functions that save, restore, copy and compare the whole state of a service (`dev`). */
export interface StateTools<Fork> {
  /** Saves the whole state: rows, clock, pending work, identifiers, random numbers (`dev`). */
  readonly snapshot: (options?: { name?: string }) => Promise<{ id: string; now: string }>;
  readonly snapshots: {
    /** The last 100 snapshots, oldest first (`dev`). */
    readonly list: () => StoredSnapshot[];
    /** Frees the memory of a snapshot, named by its id or name. Throws `not_found` for an unknown one (`dev`). */
    readonly remove: (idOrName: string) => void;
  };
  /**
   * The records added, changed and removed between two snapshots; without `to`, between a snapshot and now. For a
   * secret it shows only that it changed, not its value (`dev`).
   */
  readonly compare: (of: { from: string; to?: string }) => Promise<Comparison>;
  /**
   * Restores a snapshot, named by its id, or by its name: the newest of that name. Only this moves time back. Calls still
   * running then change nothing. Sinks and open ports stay. Rejects with `not_found` for an unknown snapshot (`dev`).
   */
  readonly restore: (idOrName: string) => Promise<{ id: string; now: string }>;
  /**
   * Restores the state right after the start, with the seed. Rejects with `limit_reached` if the database file was
   * larger than 1 GiB at the start (`dev`).
   */
  readonly reset: () => Promise<{ now: string }>;
  /**
   * An independent copy in memory: rows, clock, pending work, identifiers, random numbers, snapshots. The copy shares
   * the functions in the options (sinks, transport, drivers), listens on no port, and must be closed separately
   * (`dev`).
   */
  readonly fork: (options?: ForkOptions & { timers?: FakeTimers }) => Promise<Fork>;
  /**
   * The state changes, events and attempts that would happen up to a time. A muted fork computes them, so the service
   * stays unchanged and sends nothing. Takes `{ by: "2h" }`, or `{ to }` with an instant, `"next"` or `"idle"`. Works
   * with any clock (`dev`).
   */
  readonly preview: (until: { by?: string; to?: string }) => Promise<Preview>;
}

const forkInProcess = record({ ...forkOptions.entries, timers });

/** `wrap` makes a service from a fork's host. */
export function stateTools<Fork>(host: ServiceInstance, wrap: (host: ServiceInstance) => Fork): StateTools<Fork> {
  const { snapshot, restore, reset, list, remove, compare } = host.snapshots;
  return {
    snapshot,
    snapshots: { list, remove },
    compare,
    restore,
    async reset(...given: unknown[]) {
      refuseArgumentsButContext("reset", given, "it restores the state just after the start");
      return reset();
    },
    async fork(given = {}) {
      const example = '{ from: "snap_1", muted: true }';
      const { timers: own, ...options } = checkArgument(forkInProcess, "fork", given, example);
      const fork = await host.fork(options);
      try {
        if (own) await fork.company.couple(own);
      } catch (error) {
        await fork.close();
        throw error;
      }
      return wrap(fork);
    },
    preview: async (until) => host.preview(targetOf(checkArgument(target, "preview", until, '{ by: "2h" }'))),
  };
}
