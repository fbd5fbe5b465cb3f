/** More polls than any wait here needs. Each poll reaches a process or a disk and takes longer than 0.2 ms. */
const most = 100_000;

/** Polls a real process until it returns something other than undefined. Rejects after too many polls. */
export async function firstOf<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (let asked = 0; asked < most; asked++) {
    const answer = await ask();
    if (answer !== undefined) return answer;
  }
  throw new Error(`after ${most} questions nothing was answered: ${ask}`);
}

/**
 * Polls a real process until a condition holds, for cases without an event. Rejects with the condition after too many
 * polls.
 */
export async function until(holds: () => unknown, ask: () => unknown): Promise<void> {
  for (let asked = 0; asked < most; asked++) {
    if (await holds()) return;
    await ask();
  }
  throw new Error(`after ${most} questions this does not hold: ${holds}`);
}
