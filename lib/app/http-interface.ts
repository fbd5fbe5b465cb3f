import type { Settings } from "../config/parse-options.ts";
import { callsOf } from "../control/calls.ts";
import { createControl } from "../control/control.ts";
import { createAssets } from "../downloads/asset-downloads.ts";
import { stream } from "../events/operations.ts";
import { createHealth } from "../health/probes.ts";
import { createHooks } from "../hooks/code-host-pushes.ts";
import { createWriter } from "../http/answer.ts";
import { type App, type Beside, createApp } from "../http/app.ts";
import { createAuthenticator } from "../http/authenticate.ts";
import type { Idempotency } from "../http/idempotency.ts";
import type { Windows } from "../http/rate-limit.ts";
import type { Meter } from "../http/request-metrics.ts";
import type { FaultsDesk } from "../instruments/faults.ts";
import type { Inbox } from "../instruments/inbox.ts";
import type { Journal } from "../instruments/journal.ts";
import { createLive } from "../live/websocket.ts";
import { operations } from "../operations.ts";
import type { ClockControl } from "./advance-clock.ts";
import type { Features } from "./features.ts";
import type { HostContext } from "./host-context.ts";
import type { Foundation } from "./open-store.ts";

interface Ports {
  readonly features: Features;
  readonly limits: { readonly windows: Windows; readonly idempotency: Idempotency };
  readonly meter: Meter;
  /** Answers the metrics as text. */
  readonly metrics: () => Promise<string>;
  readonly clockControl: ClockControl;
  readonly instruments: { readonly inbox: Inbox; readonly faults: FaultsDesk; readonly journal: Journal };
  readonly closing: AbortSignal;
}

/** The HTTP interface of one state: `/v1`, with the WebSocket, and the paths beside it. */
export function createInterface(foundation: Foundation, settings: Settings, host: HostContext, ports: Ports): App {
  const { features, meter, metrics, closing } = ports;
  const { windows, idempotency } = ports.limits;
  const { faults, journal } = ports.instruments;
  const { store, clock, log, ids } = foundation;
  const { envelope, bodyLimit, behindProxy, rateLimit, addressRateLimit } = settings;
  const isDev = settings.mode === "dev";
  const checkHost = host.hosts.check;
  const authenticator = createAuthenticator({
    identify: features.keys.identify,
    watchKey: features.watchKey,
    windows,
    rateLimit,
    addressRateLimit,
  });
  const live = createLive({
    feed: features.feed,
    events: features.events,
    gate: authenticator,
    log,
    meter,
    closing,
    operation: stream,
    checkHost,
  });
  const readable = () => foundation.serviceState().read({ name: "vault" });
  return createApp({
    operations,
    services: features,
    gate: authenticator,
    idempotency,
    store,
    clock,
    log,
    ids,
    envelope,
    bodyLimit,
    behindProxy,
    closing,
    checkHost,
    meter,
    upgrade: live.upgrade,
    health: createHealth({ gate: authenticator, closing, readable, metrics, behindProxy }),
    beside: besideOf(foundation, settings, host, ports),
    faults: isDev ? faults.meet : undefined,
    observe: isDev ? journal.request : undefined,
  });
}

/** The paths beside `/v1`, asked in this order: `/_svc` in the mode dev, links to files, and pushes of code hosts. */
function besideOf({ clock }: Foundation, settings: Settings, host: HostContext, ports: Ports): Beside {
  const { features, clockControl, instruments } = ports;
  const { mode, bodyLimit, codeHost } = settings;
  const writer = createWriter({ envelope: "flat", now: clock.iso, base: "" });
  const calls = callsOf({ ...features, ...clockControl, ...instruments, clock, snapshots: host.snapshots });
  const control = createControl({ calls, now: host.iso, bodyLimit });
  const downloads = createAssets(features);
  const hooks = createHooks({ pushes: features.pushes, writer, secret: codeHost.secret, mode });
  return async (request) =>
    (mode === "dev" ? await control(request) : undefined) ?? (await downloads(request)) ?? hooks(request);
}
