import { type Log, reasonOf } from "../../kernel/log.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { OpenDatabase } from "../../store/engine.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "../../store/tables.ts";
import type { EventName } from "./catalog.ts";
import { createEventReader } from "./event-reader.ts";

/** An event, as stored and delivered. */
export interface ServiceEvent {
  readonly id: string;
  readonly organization_id: string;
  readonly event: EventName;
  readonly timestamp: string;
  readonly data: object;
}

/** A committed change of rows. Listeners read the rows if they need more. */
export type Change =
  | ({ readonly kind: "event" } & ServiceEvent)
  /** A deployment or a generation entered a state, including its first, unless `isProgress` is set. */
  | {
      readonly kind: "deployment" | "generation";
      readonly organization_id: string;
      readonly id: string;
      readonly status: string;
      readonly at: string;
      /** The completed part of a generation, 0 to 1, if its driver reports it. */
      readonly progress?: number;
      /** Only the progress changed: the generation has been in this state before. */
      readonly isProgress?: true;
    }
  /** A delivery attempt ended. `at` is the start of the attempt. */
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
  /** A delivery reached its final state through an attempt. */
  | {
      readonly kind: "delivery";
      readonly organization_id: string;
      readonly id: string;
      readonly status: "succeeded" | "abandoned";
    }
  /** A deployment's log grew. */
  | { readonly kind: "log"; readonly organization_id: string; readonly id: string }
  /** A record changed without an event. A change of an environment names its project. */
  | { readonly kind: "record"; readonly organization_id: string; readonly id: string }
  /** A process of an app ended by itself. It names the project. */
  | { readonly kind: "crash"; readonly organization_id: string; readonly id: string }
  /** A user's rights changed: a key was revoked, or the user was suspended, removed, or given another role. */
  | { readonly kind: "rights"; readonly organization_id: string; readonly user_id: string }
  /** Changes of other processes may have been missed, in any organization. Listeners must read their rows again. */
  | { readonly kind: "missed"; readonly organization_id: "" };

/** The topics of messages to other processes after a commit, so that these need not poll. */
export type Topic =
  /** Jobs are due. */
  | "jobs"
  /** Rows of runtimes or apps changed. */
  | "runtimes"
  /** An endpoint has deliveries to send. */
  | "pump"
  /** An endpoint was deleted: requests to it stop. */
  | "removed"
  /** A generation was cancelled. */
  | "cancelled"
  /** A restart that another server ordered has ended. */
  | "restarted";

/** Publishes committed changes to listeners, so that nothing needs to poll. */
export interface ChangeFeed {
  /** Publishes once the transaction is durable, to other processes too. A rollback publishes nothing. */
  publish(tx: Tx, change: Change): void;
  /** Counts changes of rights in this process: once when made, once when committed. */
  rightsChanges(): number;
  /** Changes of all processes, in commit order within an organization. Returns a function that stops listening. */
  listen(listener: (change: Change) => void): () => void;
  /** Listens to the changes of this process only; used for its metrics. */
  listenHere(listener: (change: Change) => void): void;
  /** Wakes work in all other processes after the commit; of one record, if `id` is given. */
  wake(tx: Tx, topic: Topic, id?: string): void;
  onWake(topic: Topic, listener: (id: string) => void): void;
  /** Starts listening to other processes, if there are any. */
  begin(): Promise<void>;
}

interface Ports {
  readonly log: Log;
  readonly store: Store;
  readonly opened: Pick<OpenDatabase, "cluster">;
}

type Message =
  | Exclude<Change, { kind: "event" }>
  | { readonly kind: "events"; readonly organization_id: string }
  /** `name` is a topic, followed by the id of a record if it is about one. */
  | { readonly kind: "wake"; readonly name: string };

/** The message to other processes. It must be short, so an event is only a hint to read the rows. */
function messageOf(change: Change): Message {
  if (change.kind === "event") return { kind: "events", organization_id: change.organization_id };
  return change.kind === "try" ? { ...change, error: change.error?.slice(0, 500) ?? null } : change;
}

/** Returns undefined for messages of other programs. */
function messageIn(text: string): Message | undefined {
  try {
    const message: Partial<Message & { kind: "wake" } & { organization_id: string }> | null = JSON.parse(text);
    const about = message?.kind === "wake" ? message.name : message?.organization_id;
    return typeof about === "string" ? (message as Message) : undefined;
  } catch {
    return undefined;
  }
}

const changeOf = ({ event, data, ...row }: Row<"events">): Change => ({
  kind: "event",
  ...row,
  event: event as EventName,
  data: JSON.parse(data),
});

type Listener = (change: Change) => void;

export function createChangeFeed({ log, store, opened: { cluster } }: Ports): ChangeFeed {
  const listeners = new Set<Listener>();
  /** The listeners to changes of this process only. */
  const listenersHere = new Set<Listener>();
  const wakers = new Map<string, Set<(id: string) => void>>();
  let rightsChanges = 0;

  const call = <T>(kind: string, listener: (given: T) => void, given: T) => {
    try {
      listener(given);
    } catch (error) {
      log.error("a listener failed", { kind, reason: reasonOf(error) });
    }
  };
  const notify = (change: Change, of = listeners) => {
    for (const listener of of) call(change.kind, listener, change);
  };

  const events = createEventReader({ log, store, publish: (row) => notify(changeOf(row)) });
  const hear = (text: string) => {
    const message = messageIn(text);
    if (message?.kind === "events") events.read(message.organization_id);
    else if (message?.kind === "wake") {
      const [topic = "", id = ""] = message.name.split(" ");
      for (const waker of wakers.get(topic) ?? []) call("wake", waker, id);
    } else if (message) notify(message);
  };
  const lost = () => {
    events.readAll();
    notify({ kind: "missed", organization_id: "" });
  };

  /** The last event of each open transaction or transaction group. */
  const lastOf = new WeakMap<object, string>();
  /**
   * Sends a change to other processes, and publishes it here at its commit. An event waits for earlier events of other
   * processes: otherwise events would be published in the order of the messages.
   */
  const publishShared = (tx: Tx, change: Change) => {
    tx.tell(JSON.stringify(messageOf(change)));
    const { shared: group = tx } = tx;
    const before = lastOf.get(group) ?? tx.newest ?? "";
    if (change.kind === "event") lastOf.set(group, change.id);
    tx.afterCommit(() => {
      if (change.kind === "event") events.committed(change, before, () => notify(change));
      else notify(change);
    });
  };

  return {
    publish(tx, change) {
      if (change.kind === "rights") {
        rightsChanges += 1;
        // Counted again: rows may have been read since the first count.
        tx.afterCommit(() => {
          rightsChanges += 1;
        });
      }
      tx.afterCommit(() => notify(change, listenersHere));
      if (cluster) publishShared(tx, change);
      else tx.afterCommit(() => notify(change));
    },
    rightsChanges: () => rightsChanges,
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    listenHere: (listener) => void listenersHere.add(listener),
    wake(tx, topic, id) {
      const name = id === undefined ? topic : `${topic} ${id}`;
      if (cluster) tx.tell(JSON.stringify({ kind: "wake", name } satisfies Message));
    },
    onWake: (topic, listener) => void wakers.set(topic, (wakers.get(topic) ?? new Set()).add(listener)),
    async begin() {
      await cluster?.listen(hear, lost);
      if (cluster) await events.begin();
    },
  };
}
