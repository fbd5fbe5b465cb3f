import { manualClockHint } from "../kernel/manual-clock-hint.ts";
import type { WithMeta } from "./answers.ts";
import { ClientProblem } from "./problem.ts";
import type { CallOptions, Request, Sender } from "./send.ts";

export interface WaitOptions extends CallOptions {
  /** In milliseconds of this machine's time. By default the wait lasts as long as the service's clock runs. */
  readonly timeout?: number | undefined;
}

/** The methods of features whose records reach a final state by themselves. */
export interface Waits<T> {
  /**
   * Resolves with the record once its work has ended, with any outcome. `timeout` (milliseconds, none by default) or a
   * `signal` limits the wait. Rejects with `timed_out` after that time, or if a manual clock has not moved for two
   * seconds. Over a port, detecting this takes four seconds at the start of the wait, and half a minute later on.
   * @example await client.deployments.waitUntilDone(id, { timeout: 60_000 })
   */
  readonly waitUntilDone: (id: string, options?: WaitOptions) => Promise<T & WithMeta>;
}

const ended = ["active", "failed", "cancelled", "rolled_back", "completed", "succeeded"];

/** How long the service holds a request, in seconds: short at first, to detect a stopped clock soon, later longer. */
const first_s = 2;
const later_s = 15;

interface Work {
  readonly status: string;
  readonly meta?: { readonly timestamp?: string };
}

type Get = (wait: number) => Request;

/** Two responses with the same time mean a stopped clock. Pauses grow, in case a service holds no requests. */
async function poll({ call, sleep, isClockManual }: Sender, get: Get, options: CallOptions): Promise<unknown> {
  let before: Work | undefined;
  for (let round = 0; ; round++) {
    const isManual = isClockManual?.() === true;
    const wait = isManual ? Math.min(round, 1) * first_s : round < 2 ? first_s : later_s;
    const work = (await call(get(wait), options)) as Work;
    if (ended.includes(work.status)) return work;
    const now = work.meta?.timestamp;
    // Work cannot progress while the service's clock is stopped, and perhaps only the waiting caller can advance it.
    if (now !== undefined && now === before?.meta?.timestamp && work.status === before.status)
      throw new ClientProblem("timed_out", `it is ${work.status}; ${manualClockHint(now)}`);
    before = work;
    if (!isManual) await sleep(Math.min(250 * 2 ** round, 5_000), options.signal);
  }
}

export async function waitFor(sender: Sender, get: Get, options: WaitOptions = {}): Promise<unknown> {
  const { timeout, signal, ...rest } = options;
  if (timeout === undefined) return poll(sender, get, options);
  if (!(timeout > 0 && timeout < 2 ** 31)) throw new TypeError("timeout must be milliseconds, such as 30_000");
  const limit = new AbortController();
  const expire = () => limit.abort(new ClientProblem("timed_out", `the work had not ended after ${timeout} ms`));
  // AbortSignal.timeout would not keep the process alive: it would exit silently during the wait.
  const timer = setTimeout(expire, timeout);
  const either = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;
  return poll(sender, get, { ...rest, signal: either }).finally(() => clearTimeout(timer));
}
