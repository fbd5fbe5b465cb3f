import { systemTimer } from "../../kernel/clock.ts";
import { yieldToEventLoop } from "../../kernel/node/event-loop.ts";
import { milliseconds } from "../../kernel/text/duration.ts";

/** The time limit of a whole request, from the lookup to the end of the response. A receiver has 10 seconds. */
export const requestTimeout_ms = milliseconds("10s");

/** The error of a request that timed out. */
export const timeoutError = (ms: number) => `timeout after ${ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`}`;

/**
 * Ends a request early with a reason, which becomes its error. An AbortController with its listeners costs 30 µs more
 * per request (bench `deliveries`).
 */
export class Cancellation {
  #reason: unknown;
  #cancelled = false;
  #handler = () => {};

  get reason(): unknown {
    return this.#reason;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Replaces the handler, because the stages of a request follow one another. */
  onCancel(handler: () => void): void {
    this.#handler = handler;
  }

  /** Only the first call counts. */
  cancel(reason: unknown): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#reason = reason;
    this.#handler();
  }
}

/** Settles like `work`, or rejects with the cancellation reason if that comes first. */
export const rejectOnCancel = <T>(cancellation: Cancellation, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    if (cancellation.cancelled) reject(cancellation.reason);
    cancellation.onCancel(() => reject(cancellation.reason));
    work.then(resolve, reject);
  });

/**
 * A machine timer runs for a minute at most. If the process was paused, the response may arrive before the timer fires,
 * so it is read first.
 */
function longTimer(wait: number, run: () => void): () => void {
  let cancel = systemTimer(wait, () => {
    if (wait <= 60_000) void yieldToEventLoop().then(run);
    else cancel = longTimer(wait - 60_000, run);
  });
  return () => cancel();
}

/** The requests in flight. Their timeout, the caller's signal and the shutdown cancel them. */
export function createRequestsInFlight() {
  const inFlight = new Set<Cancellation>();
  const bySignal = new WeakMap<AbortSignal, Set<Cancellation>>();

  /** One listener per signal: Node warns from eleven on, and one signal serves many requests. */
  const followersOf = (signal: AbortSignal): Set<Cancellation> => {
    const known = bySignal.get(signal);
    if (known) return known;
    const followers = new Set<Cancellation>();
    signal.addEventListener("abort", () => {
      for (const cancellation of followers) cancellation.cancel(signal.reason);
    });
    bySignal.set(signal, followers);
    return followers;
  };

  return {
    /** The caller must call `finish` when the request has ended. */
    start(timeout_ms: number, signal?: AbortSignal) {
      const cancellation = new Cancellation();
      if (signal?.aborted) cancellation.cancel(signal.reason);
      const followers = signal && followersOf(signal).add(cancellation);
      const stopTimer = longTimer(timeout_ms, () => cancellation.cancel(timeoutError(timeout_ms)));
      inFlight.add(cancellation);
      const finish = () => {
        stopTimer();
        followers?.delete(cancellation);
        inFlight.delete(cancellation);
      };
      return { cancellation, finish };
    },
    cancelAll(reason: string) {
      for (const cancellation of inFlight) cancellation.cancel(reason);
    },
  };
}
