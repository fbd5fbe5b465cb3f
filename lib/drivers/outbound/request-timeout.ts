import { systemTimer } from "../../kernel/clock.ts";

/**
 * What ends a request before its time, with a reason that becomes its error. Every request has one, so it is less than
 * an AbortController, whose listeners stood out in the profile of a delivery.
 */
export class Cut {
  #reason: unknown;
  #done = false;
  #end = () => {};

  get reason(): unknown {
    return this.#reason;
  }

  get done(): boolean {
    return this.#done;
  }

  /** What is to be ended from now on: one stage of a request follows the other. */
  ends(end: () => void): void {
    this.#end = end;
  }

  /** Only the first one counts. */
  by(reason: unknown): void {
    if (this.#done) return;
    this.#done = true;
    this.#reason = reason;
    this.#end();
  }
}

/** A timer of the machine is a minute at most. */
function longTimer(wait: number, run: () => void): () => void {
  let cancel = systemTimer(wait, () => {
    if (wait <= 60_000) run();
    else cancel = longTimer(wait - 60_000, run);
  });
  return () => cancel();
}

/** The error of what was cut in time. */
export const timeoutAfter = (ms: number) => `timeout after ${ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`}`;

/** What is under way: it is cut in time, by its signal, and when everything ends. */
export function createRunning() {
  const running = new Set<Cut>();
  const followers = new WeakMap<AbortSignal, Set<Cut>>();

  /** One listener a signal, however many requests it can end. */
  const following = (signal: AbortSignal): Set<Cut> => {
    const known = followers.get(signal);
    if (known) return known;
    const cuts = new Set<Cut>();
    signal.addEventListener("abort", () => {
      for (const cut of cuts) cut.by(signal.reason);
    });
    followers.set(signal, cuts);
    return cuts;
  };

  return {
    /** Whoever begins says when it is over. */
    begin(most_ms: number, signal?: AbortSignal) {
      const cut = new Cut();
      if (signal?.aborted) cut.by(signal.reason);
      const others = signal && following(signal).add(cut);
      const cancel = longTimer(most_ms, () => cut.by(timeoutAfter(most_ms)));
      running.add(cut);
      const over = () => {
        cancel();
        others?.delete(cut);
        running.delete(cut);
      };
      return { cut, over };
    },
    cut(reason: string) {
      for (const one of running) one.by(reason);
    },
  };
}

/** Settles as `work` does, unless it is cut before. */
export const unless = <T>(cut: Cut, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    if (cut.done) reject(cut.reason);
    cut.ends(() => reject(cut.reason));
    work.then(resolve, reject);
  });
