import { type Log, reasonOf } from "../kernel/log.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { EventName } from "./catalog.ts";

/** What happened, as it is stored and delivered. */
export interface ServiceEvent {
  readonly id: string;
  readonly organization_id: string;
  readonly event: EventName;
  readonly timestamp: string;
  readonly data: object;
}

/** What was just committed. It says that something is new; whoever needs more reads the rows. */
export type Change =
  | ({ readonly kind: "event" } & ServiceEvent)
  /** A piece of work entered a state, its first one too. */
  | {
      readonly kind: "deployment" | "generation";
      readonly organization_id: string;
      readonly id: string;
      readonly status: string;
      readonly at: string;
    }
  /** A try of a delivery ended; it began at `at`. */
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
  /** A delivery came to its end by a try. */
  | {
      readonly kind: "delivery";
      readonly organization_id: string;
      readonly id: string;
      readonly status: "succeeded" | "abandoned";
    }
  /** A deployment's log grew. */
  | { readonly kind: "log"; readonly organization_id: string; readonly id: string }
  /** A user's rights are other ones: a key of theirs was revoked, or they were suspended, removed, or given another role. */
  | { readonly kind: "rights"; readonly organization_id: string; readonly user_id: string };

/** What was committed in this process, told at once to those who listen in it: nothing has to poll. */
export interface Feed {
  /** Told when the transaction is durable, and never where it is rolled back. */
  tell(tx: Tx, change: Change): void;
  /** How often rights have changed in this process so far, in transactions that are not over yet, too. */
  rights(): number;
  /** Answers how to stop listening. */
  listen(listener: (change: Change) => void): () => void;
}

export function createFeed({ log }: { log: Log }): Feed {
  const listeners = new Set<(change: Change) => void>();
  let rights = 0;
  const give = (listener: (change: Change) => void, change: Change) => {
    try {
      listener(change);
    } catch (error) {
      log.error("a listener failed", { kind: change.kind, reason: reasonOf(error) });
    }
  };
  return {
    rights: () => rights,
    tell(tx, change) {
      if (change.kind === "rights") rights += 1;
      // Nobody can begin to listen before the commit: a group of transactions has its turn of the event loop to itself.
      if (listeners.size === 0) return;
      tx.afterCommit(() => {
        for (const listener of listeners) give(listener, change);
      });
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
