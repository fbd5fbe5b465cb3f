import { systemTimer } from "./clock.ts";
import { monotonicNow } from "./node/system.ts";

/** Calls a function after a delay, which may exceed the one-minute limit of system timers. */
export function deadline(after_ms: number, run: () => void, timer = systemTimer, now = monotonicNow): () => void {
  const end = now() + after_ms;
  let cancel = () => {};
  const arm = () => {
    const left_ms = end - now();
    if (left_ms <= 0) run();
    else cancel = timer(left_ms, arm);
  };
  arm();
  return () => cancel();
}
