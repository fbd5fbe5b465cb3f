import type { Clock } from "../kernel/clock.ts";
import { type Log, requestMessage } from "../kernel/log.ts";
import { monotonicNow } from "../kernel/node/system.ts";
import type { Handler, Outcome } from "./handler.ts";
import type { RecentRequests } from "./recent-requests.ts";
import type { RequestContext } from "./request-context.ts";
import type { Meter } from "./request-metrics.ts";
import { type Route, unnamed } from "./route.ts";

/** A finished request, without query, headers and bodies, which may be secret. */
export interface LoggedRequest {
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  /** Null if the connection broke off before an answer. */
  readonly status: number | null;
  /** By the service's clock. */
  readonly duration_ms: number;
  /** The id of its API key; null if the key is unknown. */
  readonly key_id: string | null;
}

interface Ports {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly table: readonly Route[];
  readonly journal: ((request: LoggedRequest) => void) | undefined;
  /** Keeps the last hour; undefined without the dashboard, which shows it. */
  readonly recent: RecentRequests | undefined;
}

/** Returns a wrapper for a handler: it reports every finished request to log, metrics and journal. */
export function createRequestLog({ clock, log, meter, table, journal, recent }: Ports) {
  // The order in the metrics.
  const names = new Set([unnamed, "upgrade", ...table.map(({ name }) => name)]);
  const counts = new Map([...names].map((name) => [name, meter.count(name)]));

  const record = (
    request: RequestContext,
    { name, isRoutine, leavesNoTrace }: Route,
    start: number,
    outcome?: Outcome,
  ) => {
    const duration_ms = clock.now() - start;
    const { id: request_id, method, path, began } = request;
    const { key_id = null, answer: { status } = { status: null } } = outcome ?? {};
    const ms = monotonicNow() - began;
    counts.get(name)?.(status ?? 503, ms);
    const shown_ms = Math.round(ms * 10) / 10;
    const fields = { request_id, method, path, status, duration_ms: shown_ms, key_id };
    log[isRoutine ? "debug" : "info"](requestMessage, fields);
    if (leavesNoTrace) return;
    // The dashboard reads `/_svc` after each change, which would hide other requests.
    if (!isRoutine && !(path.startsWith("/_svc/") && method === "GET"))
      recent?.add(request, { start, status, duration_ms: shown_ms, key_id }, outcome);
    journal?.({ request_id, method, path, status, duration_ms, key_id });
  };

  return (handler: Handler): Handler =>
    async (request, route) => {
      const began = clock.now();
      try {
        const outcome = await handler(request, route);
        record(request, route, began, outcome);
        return outcome;
      } catch (broken) {
        record(request, route, began);
        throw broken;
      }
    };
}
