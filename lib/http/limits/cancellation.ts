import { Problem } from "../../kernel/errors.ts";
import { AbortController } from "../../kernel/node/web.ts";
import type { RequestContext } from "../request-context.ts";
import { hold } from "./connections.ts";

export type Cancellation = ReturnType<typeof cancellationOf>;

/** Calls `lost` when a key stops being valid. Returns the function that stops watching. */
export type WatchKey = (token: string, lost: () => void) => () => void;

export const shuttingDown = () =>
  new Problem("unavailable", "the service is shutting down or has stopped", {
    headers: { "retry-after": "5", connection: "close" },
  });

const stoppedKey = () =>
  new Problem("unauthorized", "the API key was revoked, has expired, or its user was suspended or removed", {
    headers: { "www-authenticate": "Bearer" },
  });

const tooMany = () =>
  new Problem("rate_limited", "the organization has too many open streams and waiting requests; close some", {
    headers: { "retry-after": "5" },
  });

/**
 * Cancels long work: a waiting request, or a stream. From the first read of `signal`, it watches the client, the key
 * (with `watch`) and `closing`, the signal of the service, whose reason is a Problem. Without `closing`, the work may
 * end within the grace period of a shutdown.
 */
export function cancellationOf(
  request: RequestContext,
  closing: AbortSignal | undefined,
  watch: (lost: () => void) => () => void,
) {
  let control: AbortController | undefined;
  let unwatch = () => {};
  let release: (() => void) | undefined;
  const signalOf = () => {
    if (control) return control.signal;
    const begun = new AbortController();
    control = begun;
    for (const other of [request.signal(), closing]) {
      const abort = () => begun.abort(other?.reason);
      if (other?.aborted) abort();
      else other?.addEventListener("abort", abort, { signal: begun.signal });
    }
    unwatch = watch(() => begun.abort(stoppedKey()));
    return begun.signal;
  };
  return {
    /** Aborted if the client disconnects or, with a Problem as reason, if its key is revoked or the service stops. */
    get signal(): AbortSignal {
      return signalOf();
    },
    /**
     * Counts the connection for an organization, from the first call to the end, and returns the signal. If the
     * organization has too many, this aborts the signal with a Problem `rate_limited`.
     */
    count(organization_id: string): AbortSignal {
      const signal = signalOf();
      // Calls in process have no connection, and callers without a key no organization.
      if (signal.aborted || release || !request.incoming || organization_id === "") return signal;
      release = hold(request.incoming.socket, organization_id);
      if (!release) control?.abort(tooMany());
      return signal;
    },
    /** Called when the work has ended: aborts the signal and stops watching. */
    end(): void {
      control?.abort();
      release?.();
      unwatch();
    },
    /** Throws the Problem of `count`. */
    check(): void {
      const reason: unknown = control?.signal.reason;
      if (reason instanceof Problem && reason.code === "rate_limited") throw reason;
    },
  };
}
