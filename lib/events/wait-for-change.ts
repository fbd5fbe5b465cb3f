import { type Clock, machineTimer } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import type { Change, Feed } from "./change-feed.ts";

/** Changes that somebody waits for, from the moment this was made: none is missed between two looks. */
export interface Changes {
  /** Resolves at the next change, with true; with false once the waiting is over. */
  next(): Promise<boolean>;
  stop(): void;
}

/** What somebody waits for: a piece of work of an organization. */
export interface Work {
  readonly organization_id: string;
  readonly id: string;
}

/** How long somebody waits at most. `signal` ends it sooner: they have gone, or have to go. */
export interface Patience {
  readonly seconds?: number | undefined;
  readonly signal: () => AbortSignal;
}

export type Waiting = ReturnType<typeof createWaiting>;

/** Waiting by notification: whoever waits is woken by the commit that they wait for, and looks at the rows anew. */
export function createWaiting({ feed, clock }: { feed: Feed; clock: Clock }) {
  /** What concerns a piece of work: its moves, its log, and its removal with its project. Without `seconds` for ever. */
  const changes = ({ organization_id, id }: Work, signal: AbortSignal, seconds?: number): Changes => {
    let rung = false;
    let over = signal.aborted;
    let wake = () => {};
    const concerns = (change: Change) =>
      change.organization_id === organization_id &&
      (change.kind === "event" ? change.event === "project.deleted" : "id" in change && change.id === id);
    const end = () => {
      over = true;
      wake();
    };
    const undo = [
      feed.listen((change) => {
        if (!concerns(change)) return;
        rung = true;
        wake();
      }),
      () => signal.removeEventListener("abort", end),
    ];
    signal.addEventListener("abort", end);
    if (seconds !== undefined) {
      // A clock that stands must not hold a caller for ever, so the machine's time counts too, and keeps a process alive that only waits.
      undo.push(clock.alarm(clock.now() + seconds * 1000, end), machineTimer(seconds * 1000, end, { hold: true }));
    }
    return {
      async next() {
        if (!rung && !over) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        rung = false;
        return !over;
      },
      stop() {
        for (const one of undo) one();
      },
    };
  };

  const wait = async <R>(
    work: Work,
    { seconds, signal }: Patience,
    read: () => Promise<R>,
    ended: (found: R) => boolean,
  ): Promise<R> => {
    const first = await read();
    if (ended(first)) return first;
    const left = signal();
    const awaited = changes(work, left, seconds);
    try {
      for (let more = true; ; more = await awaited.next()) {
        const { reason } = left;
        if (reason instanceof Problem && reason.code === "unauthorized") throw reason;
        const found = await read();
        if (!more || ended(found)) return found;
      }
    } finally {
      awaited.stop();
    }
  };

  return {
    changes,

    /** What `read` answers once that has `ended`, or once the patience is over. Throws 401 where the key stopped. */
    until: <R>(work: Work, patience: Patience, read: () => Promise<R>, ended: (found: R) => boolean): Promise<R> =>
      patience.seconds ? wait(work, patience, read, ended) : read(),
  };
}
