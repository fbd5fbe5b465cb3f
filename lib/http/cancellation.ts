import { Problem } from "../kernel/errors.ts";
import type { RequestContext } from "./request-context.ts";

/** For what outlasts a moment: tells when to stop, and is told when the request is answered. */
export interface Cancellation {
  /** Aborted when whoever asked has gone, with a Problem where they have to go: their key stopped, or the service ends. */
  readonly signal: AbortSignal;
  /** Nothing is waited for any more. */
  over(): void;
}

/** Calls `lost` when the key of a request stops being valid. Answers how to stop watching. */
export type WatchKey = (token: string, lost: () => void) => () => void;

export const shuttingDown = () =>
  new Problem("unavailable", "the service is shutting down", { headers: { "retry-after": "5", connection: "close" } });

export const stoppedKey = () =>
  new Problem("unauthorized", "the API key was revoked, has expired, or its user was suspended or removed", {
    headers: { "www-authenticate": "Bearer" },
  });

export function cancellationOf(
  { asker: askerOf }: RequestContext,
  closing: AbortSignal,
  watch: (lost: () => void) => () => void,
): Cancellation {
  const control = new AbortController();
  const asker = askerOf();
  const gone = () => control.abort();
  const ending = () => control.abort(shuttingDown());
  asker.addEventListener("abort", gone);
  closing.addEventListener("abort", ending);
  const unwatch = watch(() => control.abort(stoppedKey()));
  if (asker.aborted) gone();
  if (closing.aborted) ending();
  return {
    signal: control.signal,
    over() {
      control.abort();
      asker.removeEventListener("abort", gone);
      closing.removeEventListener("abort", ending);
      unwatch();
    },
  };
}
