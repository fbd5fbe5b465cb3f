import { ClientProblem } from "./problem.ts";
import type { CallOptions, Request, Sender } from "./send.ts";

export interface WaitOptions extends CallOptions {
  /** How long to wait at most, in milliseconds of this machine. Without it there is no limit while the service's clock goes on. */
  readonly timeout?: number | undefined;
}

const ended = ["active", "failed", "cancelled", "rolled_back", "completed", "succeeded"];

/** How long the service is asked to wait at a time. Of a clock that stands, two such answers tell. */
export const patience_s = 15;

interface Seen {
  readonly status: string;
  readonly meta?: { readonly timestamp?: string };
}

/** Asks the service to answer at the end; one that does not wait is asked again, ever more seldom. */
async function asked({ call, sleep }: Sender, look: Request, options: CallOptions): Promise<unknown> {
  const request = { ...look, more_ms: patience_s * 1000 };
  let before: Seen | undefined;
  for (let pause = 250; ; pause = Math.min(pause * 2, 5_000)) {
    const seen = (await call(request, options)) as Seen;
    if (ended.includes(seen.status)) return seen;
    const now = seen.meta?.timestamp;
    // Nothing moves by itself while the service's clock stands, and whoever should move it may be the one who waits here.
    if (now !== undefined && now === before?.meta?.timestamp && seen.status === before.status)
      throw new ClientProblem(
        "timed_out",
        `it is ${seen.status}, and the service's clock stands at ${now}; advance the clock while this waits, or before`,
      );
    before = seen;
    await sleep(pause, options.signal);
  }
}

/** The record that `look` gives, once its work has ended. */
export async function waitFor(sender: Sender, look: Request, options: WaitOptions = {}): Promise<unknown> {
  const { timeout, signal, ...rest } = options;
  if (timeout === undefined) return asked(sender, look, options);
  if (!(timeout > 0 && timeout < 2 ** 31)) throw new TypeError("timeout must be milliseconds, such as 30_000");
  const limit = new AbortController();
  const late = () => limit.abort(new ClientProblem("timed_out", `the work had not ended after ${timeout} ms`));
  // Unlike that of AbortSignal.timeout it keeps a process alive, which would end without a word.
  const timer = setTimeout(late, timeout);
  const either = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;
  return asked(sender, look, { ...rest, signal: either }).finally(() => clearTimeout(timer));
}
