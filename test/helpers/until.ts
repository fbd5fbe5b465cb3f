/** More questions than any wait of ours needs: each reaches a process or a disk, and takes longer than 0.2 ms. */
const most = 100_000;

/**
 * The first answer that counts, from a real process: it is asked again while it answers undefined. Rejects after so many
 * questions.
 */
export async function firstOf<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (let asked = 0; asked < most; asked++) {
    const answer = await ask();
    if (answer !== undefined) return answer;
  }
  throw new Error(`after ${most} questions nothing was answered: ${ask}`);
}

/**
 * Asks a real process until something holds, where no event tells of it. Rejects with what it waited for when that has not
 * come after so many questions.
 */
export async function until(holds: () => unknown, ask: () => unknown): Promise<void> {
  for (let asked = 0; asked < most; asked++) {
    if (await holds()) return;
    await ask();
  }
  throw new Error(`after ${most} questions this does not hold: ${holds}`);
}
