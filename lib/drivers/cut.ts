/**
 * What ends a request before its time, with a reason that becomes its error. Every request has one, and an
 * AbortController with its listeners would cost as much as the rest of what is done about a request.
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

const followers = new WeakMap<AbortSignal, Set<Cut>>();

/** Cuts when the signal does: one listener a signal, however many requests it can end. Answers how to stop following. */
export function follow(signal: AbortSignal, cut: Cut): () => void {
  if (signal.aborted) cut.by(signal.reason);
  let all = followers.get(signal);
  if (!all) {
    const cuts = new Set<Cut>();
    signal.addEventListener("abort", () => {
      for (const one of cuts) one.by(signal.reason);
    });
    followers.set(signal, cuts);
    all = cuts;
  }
  const cuts = all.add(cut);
  return () => void cuts.delete(cut);
}

/** Settles as `work` does, unless it is cut before. */
export const unless = <T>(cut: Cut, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    cut.ends(() => reject(cut.reason));
    work.then(resolve, reject);
  });
