import { systemTimer } from "../../kernel/clock.ts";
import { yieldToEventLoop } from "../../kernel/node/event-loop.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { milliseconds } from "../../kernel/text/duration.ts";

/** The time limit of a whole request, from the lookup to the end of the response. A receiver has 10 seconds. */
export const requestTimeout_ms = milliseconds("10s");

export const timeoutError = (ms: number) => `timeout after ${ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`}`;

/** A timer that may exceed a minute. After a pause of the process, a response that has arrived is read first. */
function longTimer(wait: number, run: () => void): () => void {
  let cancel = systemTimer(wait, () => {
    if (wait <= 60_000) void yieldToEventLoop().then(run);
    else cancel = longTimer(wait - 60_000, run);
  });
  return () => cancel();
}

/** The requests in flight. Their timeout, the caller's signal and the shutdown abort them. */
export function createRequestsInFlight() {
  const inFlight = new Set<AbortController>();
  const bySignal = new WeakMap<AbortSignal, Set<AbortController>>();

  /** One listener per signal: Node warns from eleven on, and one signal serves many requests. */
  const followersOf = (signal: AbortSignal): Set<AbortController> => {
    const present = bySignal.get(signal);
    if (present) return present;
    const followers = new Set<AbortController>();
    signal.addEventListener("abort", () => {
      for (const one of followers) one.abort(signal.reason);
    });
    bySignal.set(signal, followers);
    return followers;
  };

  return {
    /** The reason of the returned signal is the request's error. Call `finish` when the request has ended. */
    start(timeout_ms: number, signal?: AbortSignal): { readonly signal: AbortSignal; finish(): void } {
      const request = new AbortController();
      if (signal?.aborted) request.abort(signal.reason);
      const followers = signal && followersOf(signal).add(request);
      const stopTimer = longTimer(timeout_ms, () => request.abort(timeoutError(timeout_ms)));
      inFlight.add(request);
      const finish = () => {
        stopTimer();
        followers?.delete(request);
        inFlight.delete(request);
      };
      return { signal: request.signal, finish };
    },
    abortAll(reason: string) {
      for (const request of inFlight) request.abort(reason);
    },
  };
}
