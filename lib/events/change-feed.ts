import { type Log, reasonOf } from "../kernel/log.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { EventName } from "./catalog.ts";

/** An event as it is stored and delivered. */
export interface ServiceEvent {
  readonly id: string;
  readonly organization_id: string;
  readonly event: EventName;
  readonly timestamp: string;
  readonly data: object;
}

/** A committed change. It says that rows changed; listeners that need more read the rows. */
export type Change =
  | ({ readonly kind: "event" } & ServiceEvent)
  /** A deployment or a generation entered a state, the first one included. */
  | {
      readonly kind: "deployment" | "generation";
      readonly organization_id: string;
      readonly id: string;
      readonly status: string;
      readonly at: string;
    }
  /** An attempt of a delivery ended; it started at `at`. */
  | {
      readonly kind: "try";
      readonly organization_id: string;
      readonly delivery_id: string;
      readonly endpoint_id: string;
      readonly event: string;
      readonly number: number;
      readonly at: string;
      readonly status: number | null;
      readonly error: string | null;
      readonly duration_ms: number;
    }
  /** A delivery ended by an attempt. */
  | {
      readonly kind: "delivery";
      readonly organization_id: string;
      readonly id: string;
      readonly status: "succeeded" | "abandoned";
    }
  /** A deployment's log grew. */
  | { readonly kind: "log"; readonly organization_id: string; readonly id: string }
  /** A record changed, and no event says so. An environment changes with its project. */
  | { readonly kind: "record"; readonly organization_id: string; readonly id: string }
  /** A user's rights changed: a key was revoked, or the user was suspended, removed, or given another role. */
  | { readonly kind: "rights"; readonly organization_id: string; readonly user_id: string };

/** Publishes changes committed in this process to its listeners, so that nothing polls. */
export interface ChangeFeed {
  /** Publishes once the transaction is durable, never if it is rolled back. */
  publish(tx: Tx, change: Change): void;
  /** Counts changes of rights in this process, those of open transactions included. */
  rightsChanges(): number;
  /** Returns the function that stops listening. */
  listen(listener: (change: Change) => void): () => void;
}

export function createChangeFeed({ log }: { log: Log }): ChangeFeed {
  const listeners = new Set<(change: Change) => void>();
  let rightsChanges = 0;
  const notify = (listener: (change: Change) => void, change: Change) => {
    try {
      listener(change);
    } catch (error) {
      log.error("a listener failed", { kind: change.kind, reason: reasonOf(error) });
    }
  };
  return {
    rightsChanges: () => rightsChanges,
    publish(tx, change) {
      if (change.kind === "rights") rightsChanges += 1;
      // No listener can join before the commit: the transactions of a group hold the event loop until then.
      if (listeners.size === 0) return;
      tx.afterCommit(() => {
        for (const listener of listeners) notify(listener, change);
      });
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
