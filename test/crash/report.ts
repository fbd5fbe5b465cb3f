/** What a part of the suite found. */
export interface Report {
  /** One line: what was done, how often, and what came of it. */
  readonly figures: string;
  /** A line for each loss or broken rule, with what repeats it. */
  readonly wrong: readonly string[];
}

export interface Size {
  /** How often: kills, calls, states, backups. */
  readonly count: number;
  readonly seed: string;
  /** When the time is up, however many were done; by `performance.now()`. */
  readonly until: number;
  /** Takes the figures so far. */
  readonly progress: (figures: string) => void;
}

/** Runs jobs one after the other in each of so many lanes; stops at the first failure, and when the time is up. */
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
