import { ClientProblem } from "./problem.ts";
import type { CallOptions, Request, Sender } from "./send.ts";

export interface WaitOptions extends CallOptions {
  /** The limit of the wait, in milliseconds of this machine. Without it the wait is unlimited while the service's clock runs. */
  readonly timeout?: number | undefined;
}

const ended = ["active", "failed", "cancelled", "rolled_back", "completed", "succeeded"];

/** How long the service may hold one request, in seconds. Two answers with the same time show a stopped clock. */
export const wait_s = 15;

interface Work {
  readonly status: string;
  readonly meta?: { readonly timestamp?: string };
}

/** Polls with requests that the service holds until the work ends. Pauses grow, for a service that does not hold them. */
async function poll({ call, sleep }: Sender, get: Request, options: CallOptions): Promise<unknown> {
  const request = { ...get, extra_ms: wait_s * 1000 };
  let before: Work | undefined;
  for (let pause = 250; ; pause = Math.min(pause * 2, 5_000)) {
    const work = (await call(request, options)) as Work;
    if (ended.includes(work.status)) return work;
    const now = work.meta?.timestamp;
    // No work moves while the service's clock stands still, and only the waiting caller may be able to advance it.
    if (now !== undefined && now === before?.meta?.timestamp && work.status === before.status)
      throw new ClientProblem(
        "timed_out",
        `it is ${work.status}, and the service's clock stands still at ${now}; advance the clock before or during the wait`,
      );
    before = work;
    await sleep(pause, options.signal);
  }
}

/** The record of `get`, once its work has ended. */
export async function waitFor(sender: Sender, get: Request, options: WaitOptions = {}): Promise<unknown> {
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
