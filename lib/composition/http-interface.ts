import type { Settings } from "../config/parse-options.ts";
import { withFaults } from "../emulator/instruments/fault-handler.ts";
import { withForwardHint } from "../emulator/instruments/forward-hint.ts";
import { withWorlds } from "../emulator/worlds.ts";
import { assetsPath } from "../features/generations/asset-links.ts";
import { createWriter } from "../http/answer.ts";
import { type App, createApp } from "../http/app.ts";
import { createAuthenticator } from "../http/authenticate.ts";
import { type AllowsOrigin, allowsListed, allowsLoopback, allowsNone, withCors } from "../http/cors.ts";
import { createHandler } from "../http/handler.ts";
import { createFairShares } from "../http/limits/fair-shares.ts";
import { base } from "../http/request-context.ts";
import { createRequestLog } from "../http/request-log.ts";
import { createLongLists } from "../http/streams/long-list.ts";
import { createIds } from "../kernel/ids.ts";
import { createRandom } from "../kernel/random.ts";
import type { InstanceContext } from "./instance-context.ts";
import type { Foundation } from "./open-store.ts";
import { type Ports, routeTable } from "./route-table.ts";
import { tracedHandler } from "./tracing.ts";

/** The HTTP interface of one state: a route table, its request handler, and in the mode dev its faults. */
export function createInterface(foundation: Foundation, settings: Settings, host: InstanceContext, ports: Ports): App {
  const { features, limits, meter, closing, instruments, running } = ports;
  const { clock, log, ids } = foundation;
  const { strict, rateLimit, addressRateLimit, behindProxy, envelope } = settings;
  const { faults, journal } = instruments;
  const { check: checkHost, knows: knowsHost } = host.hosts;
  const isDev = settings.mode === "dev";
  const authenticator = createAuthenticator({
    identify: features.keys.identify,
    watchKey: features.watchKey,
    windows: limits.windows,
    keyLimit: (own) => (strict && rateLimit === 0 ? 0 : (own ?? rateLimit)),
    addressRateLimit,
  });
  const plainWriter = createWriter({ envelope, now: clock.iso, base });
  const writer = isDev ? withForwardHint(plainWriter) : plainWriter;
  const allowsOrigin = allowedOrigins(settings);
  const fairShares = createFairShares();
  const turns = { fairShares, longLists: createLongLists(fairShares) };
  const table = routeTable({ foundation, settings, host, ...ports, ...turns, authenticator, writer, allowsOrigin });

  const plain = createHandler({ authenticator, writer, log, closing, checkHost });
  const handler = foundation.opened.cluster ? running.counted(plain) : plain;
  const logged = createRequestLog({
    clock,
    log,
    meter,
    table,
    journal: isDev ? journal.request : undefined,
    recent: settings.dashboard ? host.requests : undefined,
  });
  const { look } = authenticator;
  const usual = logged(handler);
  const faulty = isDev ? withFaults(handler, { faults, writer, knowsHost, look, logged }) : usual;
  const traced = tracedHandler(faulty, foundation.tracer);
  const crossOrigin =
    allowsOrigin === allowsNone ? traced : withCors(traced, { allowsOrigin, assetsPath, usual, look });
  return createApp({
    table,
    handler: isDev && !host.isWorld ? withWorlds(crossOrigin, host) : crossOrigin,
    ids,
    otherIds: createIds(clock, createRandom()),
    log,
    behindProxy,
  });
}

/**
 * The origins whose pages may call: those of the option `cors`, or by default in the mode dev those of this machine.
 */
function allowedOrigins({ cors, mode }: Settings): AllowsOrigin {
  if (cors) return allowsListed(cors);
  return mode === "dev" ? allowsLoopback : allowsNone;
}
