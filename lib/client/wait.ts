import { standingClock } from "../kernel/standing-clock.ts";
import type { WithMeta } from "./answers.ts";
import { ClientProblem } from "./problem.ts";
import type { CallOptions, Request, Sender } from "./send.ts";

export interface WaitOptions extends CallOptions {
  /** The limit of the wait, in milliseconds of this machine. Without it the wait is unlimited while the service's clock runs. */
  readonly timeout?: number | undefined;
}

/** The features whose records end by themselves. */
export interface Waits<T> {
  /**
   * Resolves with the record once its work has ended, with any outcome. `timeout` (milliseconds, none by default) or a
   * `signal` limits the wait. Rejects with `timed_out` after that time, and also if nobody has moved a manual clock for
   * two seconds; over a port, noticing this takes four seconds at the beginning of the wait, and half a minute later.
   * @example await client.deployments.waitUntilDone(id, { timeout: 60_000 })
   */
  waitUntilDone(id: string, options?: WaitOptions): Promise<T & WithMeta>;
}

const ended = ["active", "failed", "cancelled", "rolled_back", "completed", "succeeded"];

/** Seconds for which the service holds a request: few at first, to notice a stopped clock soon, and more later. */
const first_s = 2;
const later_s = 15;

interface Work {
  readonly status: string;
  readonly meta?: { readonly timestamp?: string };
}

/** The request for the record, which the service holds for this many seconds unless the work ends. */
type Get = (wait: number) => Request;

/**
 * Polls with requests that the service holds until the work ends. Two answers with the same time show a stopped clock. Where
 * the sender sees a manual clock, the first answer comes at once. Pauses grow, for a service that does not hold requests.
 */
async function poll({ call, sleep, standsStill }: Sender, get: Get, options: CallOptions): Promise<unknown> {
  let before: Work | undefined;
  for (let round = 0; ; round++) {
    const isManual = standsStill?.() === true;
    const wait = isManual ? Math.min(round, 1) * first_s : round < 2 ? first_s : later_s;
    const work = (await call(get(wait), options)) as Work;
    if (ended.includes(work.status)) return work;
    const now = work.meta?.timestamp;
    // No work moves while the service's clock stands still, and only the waiting caller may be able to advance it.
    if (now !== undefined && now === before?.meta?.timestamp && work.status === before.status)
      throw new ClientProblem("timed_out", `it is ${work.status}; ${standingClock(now)}`);
    before = work;
    if (!isManual) await sleep(Math.min(250 * 2 ** round, 5_000), options.signal);
  }
}

/** The record of `get`, once its work has ended. */
export async function waitFor(sender: Sender, get: Get, options: WaitOptions = {}): Promise<unknown> {
  const { timeout, signal, ...rest } = options;
  if (timeout === undefined) return poll(sender, get, options);
  if (!(timeout > 0 && timeout < 2 ** 31)) throw new TypeError("timeout must be milliseconds, such as 30_000");
  const limit = new AbortController();
  const expire = () => limit.abort(new ClientProblem("timed_out", `the work had not ended after ${timeout} ms`));
  // Unlike AbortSignal.timeout this timer keeps the process alive, which would otherwise end silently.
  const timer = setTimeout(expire, timeout);
  const either = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;
  return poll(sender, get, { ...rest, signal: either }).finally(() => clearTimeout(timer));
}
