import { type Clock, systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { manualClockHint } from "../../kernel/manual-clock-hint.ts";
import { createTurns, type Turns } from "../../kernel/node/event-loop.ts";
import type { Change, ChangeFeed } from "./change-feed.ts";

/** Collects changes from its creation on, so that none between two reads is missed. */
export interface ChangeSubscription {
  /** Resolves to true at the next change, to false after a timeout or an abort. */
  next(): Promise<boolean>;
  stop(): void;
}

/** A deployment or a generation. */
export interface Work {
  readonly organization_id: string;
  readonly id: string;
}

/** `signal` ends the wait early: the client disconnected, its key was revoked, or the service shuts down. */
export interface WaitOptions {
  /** The longest wait (schema/streams.md#waiting-for-the-end). Default: do not wait. */
  readonly seconds?: number | undefined;
  /** Called only if the wait starts. */
  readonly signal: () => AbortSignal;
}

export type Waiting = ReturnType<typeof createWaiting>;

/** Waits without polling: a commit wakes the waiting call, which reads the rows again. */
export function createWaiting({ feed, clock, log }: { feed: ChangeFeed; clock: Clock; log: Log }) {
  /** Wakes few callers of an organization per tick, because a log may have thousands of followers. */
  const organizations = new Map<string, { readonly turns: Turns; count: number }>();
  const turnsOf = (organization_id: string) => {
    const its = organizations.get(organization_id) ?? { turns: createTurns(() => {}), count: 0 };
    its.count += 1;
    organizations.set(organization_id, its);
    const release = () => {
      its.count -= 1;
      if (its.count === 0) organizations.delete(organization_id);
    };
    return { turns: its.turns, release };
  };

  /** Subscribes for `seconds` to the states and log of a deployment or generation, and to deletions of projects. */
  const changes = ({ organization_id, id }: Work, signal: AbortSignal, seconds?: number): ChangeSubscription => {
    let isChanged = false;
    let isOver = signal.aborted;
    let sleeping: (() => void) | undefined;
    const { turns, release } = turnsOf(organization_id);
    const wakeUp = () => {
      if (sleeping) turns(sleeping);
      sleeping = undefined;
    };
    const concerns = (change: Change) =>
      change.kind === "missed" ||
      (change.organization_id === organization_id &&
        (change.kind === "event" ? change.event === "project.deleted" : "id" in change && change.id === id));
    const end = () => {
      isOver = true;
      wakeUp();
    };
    const cleanUp = [
      feed.listen((change) => {
        if (!concerns(change)) return;
        isChanged = true;
        wakeUp();
      }),
      () => signal.removeEventListener("abort", end),
      release,
    ];
    signal.addEventListener("abort", end);
    if (seconds !== undefined) {
      // The machine's clock counts too, because a stopped service clock must not hold a client forever. `hold` keeps
      // the process alive while a call waits.
      cleanUp.push(clock.alarmAfter(seconds * 1000, end), systemTimer(seconds * 1000, end, { hold: true }));
    }
    return {
      async next() {
        if (!isChanged && !isOver) {
          await new Promise<void>((resolve) => {
            sleeping = resolve;
          });
        }
        isChanged = false;
        return !isOver;
      },
      stop() {
        for (const undo of cleanUp) undo();
      },
    };
  };

  /**
   * Resolves with the result of `read` once the work `hasEnded`, or with its state at the end of the wait.
   *
   * @throws {Problem} `unauthorized` if the key is revoked during the wait.
   */
  const until = async <R>(
    work: Work,
    { seconds, signal }: WaitOptions,
    read: () => Promise<R>,
    hasEnded: (found: R) => boolean,
  ): Promise<R> => {
    const first = await read();
    if (!seconds || hasEnded(first)) return first;
    if (clock.mode === "manual")
      log.warn(`a call waits, but ${manualClockHint(clock.iso())}`, { id: work.id, wait: seconds });
    const cancelled = signal();
    const subscription = changes(work, cancelled, seconds);
    try {
      for (let more = true; ; more = await subscription.next()) {
        const { reason } = cancelled;
        if (reason instanceof Problem && reason.code === "unauthorized") throw reason;
        const found = await read();
        if (!more || hasEnded(found)) return found;
      }
    } finally {
      subscription.stop();
    }
  };

  return { changes, until };
}
