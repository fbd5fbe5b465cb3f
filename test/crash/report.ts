/** The result of one part of the suite. */
export interface Report {
  /** One line: the actions, their number, and the outcome. */
  readonly figures: string;
  /** A line for each loss or broken rule, with the seed or call that reproduces it. */
  readonly wrong: readonly string[];
}

export interface Size {
  /** The number of kills, calls, states or backups. */
  readonly count: number;
  readonly seed: string;
  /** When to stop, even before `count` is reached; by `performance.now()`. */
  readonly until: number;
  /** Receives the figures so far. */
  readonly progress: (figures: string) => void;
}

/** Runs jobs in `lanes` lanes, one after the other in each. Stops at the first failure or when the time is up. */
export async function inLanes(
  lanes: number,
  until: number,
  jobs: Iterable<() => Promise<readonly string[]>>,
): Promise<string[]> {
  const queue = jobs[Symbol.iterator]();
  const wrong: string[] = [];
  const lane = async () => {
    while (wrong.length === 0 && performance.now() < until) {
      const next = queue.next();
      if (next.done) return;
      wrong.push(...(await next.value()));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return wrong;
}
