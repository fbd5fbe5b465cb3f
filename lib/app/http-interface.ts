import type { Settings } from "../config/parse-options.ts";
import { callsOf } from "../control/calls.ts";
import { controlRoutes } from "../control/control-routes.ts";
import { assetRoutes } from "../downloads/asset-downloads.ts";
import { stream } from "../events/operations.ts";
import { healthRoutes } from "../health/probes.ts";
import { hookRoutes } from "../hooks/code-host-pushes.ts";
import { createWriter, type Writer } from "../http/answer.ts";
import { type App, createApp } from "../http/app.ts";
import { type Authenticator, createAuthenticator, unauthenticated } from "../http/authenticate.ts";
import { createHandler } from "../http/handler.ts";
import type { Idempotency } from "../http/idempotency.ts";
import { operationRoutes } from "../http/operation-routes.ts";
import type { RateLimits } from "../http/rate-limit.ts";
import { base } from "../http/request-context.ts";
import { createRequestLog } from "../http/request-log.ts";
import type { Meter } from "../http/request-metrics.ts";
import { notHere, type Route, unnamed } from "../http/route-table.ts";
import { createRunOperation } from "../http/run-operation.ts";
import { withFaults } from "../instruments/fault-handler.ts";
import type { Faults } from "../instruments/faults.ts";
import type { Inbox } from "../instruments/inbox.ts";
import type { Journal } from "../instruments/journal.ts";
import { createLiveRoute } from "../live/websocket.ts";
import { operations } from "../operations.ts";
import type { ClockControl } from "./advance-clock.ts";
import type { Features } from "./features.ts";
import type { HostContext } from "./host-context.ts";
import type { Foundation } from "./open-store.ts";

interface Ports {
  readonly features: Features;
  readonly limits: { readonly windows: RateLimits; readonly idempotency: Idempotency };
  readonly meter: Meter;
  /** Answers the metrics as text. */
  readonly metrics: () => Promise<string>;
  readonly clockControl: ClockControl;
  readonly instruments: { readonly inbox: Inbox; readonly faults: Faults; readonly journal: Journal };
  readonly closing: AbortSignal;
}

/** The HTTP interface of one state: one route table, the handler of its routes, and in the mode dev its faults. */
export function createInterface(foundation: Foundation, settings: Settings, host: HostContext, ports: Ports): App {
  const { features, limits, meter, closing, instruments } = ports;
  const { clock, log, ids } = foundation;
  const { rateLimit, addressRateLimit, behindProxy, envelope } = settings;
  const { faults, journal } = instruments;
  const { check: checkHost, knows: knowsHost } = host.hosts;
  const isDev = settings.mode === "dev";
  const authenticator = createAuthenticator({
    identify: features.keys.identify,
    watchKey: features.watchKey,
    windows: limits.windows,
    rateLimit,
    addressRateLimit,
  });
  const writer = createWriter({ envelope, now: clock.iso, base });
  const table = routeTable(foundation, settings, host, { ...ports, authenticator, writer });

  const handler = createHandler({ authenticator, writer, log, closing, checkHost });
  const logged = createRequestLog({ clock, log, meter, table, journal: isDev ? journal.request : undefined });
  const { look } = authenticator;
  return createApp({
    table,
    handler: isDev ? withFaults(handler, { faults, writer, knowsHost, look, logged }) : logged(handler),
    ids,
    log,
    behindProxy,
  });
}

/** Every route of the service: path, method, access and answer. */
function routeTable(
  { serviceState, log, clock }: Foundation,
  { bodyLimit, behindProxy, mode, codeHost }: Settings,
  host: HostContext,
  ports: Ports & { readonly authenticator: Authenticator; readonly writer: Writer },
): Route[] {
  const { features, limits, meter, metrics, clockControl, instruments, closing, authenticator, writer } = ports;
  const run = createRunOperation({
    services: features,
    authenticator,
    idempotency: limits.idempotency,
    writer,
    bodyLimit,
    meter,
    log,
    closing,
  });
  const live = createLiveRoute({
    feed: features.feed,
    events: features.events,
    authenticator,
    log,
    meter,
    closing,
    operation: stream,
    checkHost: host.hosts.check,
  });
  const calls = callsOf({ ...features, ...clockControl, ...instruments, clock, snapshots: host.snapshots });
  const readable = async () => serviceState().read({ name: "vault" });
  const hookWriter = createWriter({ envelope: "flat", now: clock.iso, base: "" });
  return [
    live,
    ...operationRoutes({ operations, authenticator, run }),
    ...(mode === "dev" ? controlRoutes({ calls, now: host.iso, bodyLimit }) : []),
    ...healthRoutes({ authenticator, readable, metrics, behindProxy }),
    ...hookRoutes({ pushes: features.pushes, writer: hookWriter, secret: codeHost.secret, mode }),
    ...assetRoutes(features),
    { method: "*", path: "/**", name: unnamed, access: () => unauthenticated, answer: refuse },
  ];
}

const refuse = () => {
  throw notHere();
};
