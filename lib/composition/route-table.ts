import { tlsRoute } from "../composition/health/tls-allowed.ts";
import { hookRoutes } from "../composition/hooks/hook-routes.ts";
import type { Settings } from "../config/parse-options.ts";
import { createDashboardAccess } from "../dashboard/access.ts";
import { dashboardApi, dashboardPath, dashboardRoutes } from "../dashboard/dashboard-routes.ts";
import { createLiveSocket } from "../dashboard/live-socket.ts";
import { lookUpRoutes } from "../dashboard/look-up-routes.ts";
import { createPeople } from "../dashboard/people.ts";
import { createHistory } from "../dashboard/process-history.ts";
import type { Outbound } from "../drivers/outbound/outbound.ts";
import { controlCalls } from "../emulator/control/calls.ts";
import { controlRoutes } from "../emulator/control/control-routes.ts";
import type { Faults } from "../emulator/instruments/faults.ts";
import type { Inbox } from "../emulator/instruments/inbox.ts";
import type { Journal } from "../emulator/instruments/journal.ts";
import type { Notices } from "../emulator/instruments/notices.ts";
import { stream } from "../features/events/operations.ts";
import { accept } from "../features/invitations/operations.ts";
import { createWriter, type Writer } from "../http/answer.ts";
import { createAudit, createEntries } from "../http/audit-entries.ts";
import { type Authenticator, unauthenticated } from "../http/authenticate.ts";
import type { AllowsOrigin } from "../http/cors.ts";
import type { RunningRequests } from "../http/handler.ts";
import type { Idempotency } from "../http/idempotency.ts";
import type { FairShares } from "../http/limits/fair-shares.ts";
import { operationRoutes } from "../http/operation-routes.ts";
import type { RateLimits } from "../http/rate-limit.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { Meter } from "../http/request-metrics.ts";
import { notHere, type Route, unnamed } from "../http/route.ts";
import { createRunOperation } from "../http/run-operation.ts";
import type { LongLists } from "../http/streams/long-list.ts";
import { createLiveRoute } from "../http/streams/websocket.ts";
import type { ClockControl } from "../jobs/clock-control.ts";
import type { QueueLoad } from "../jobs/runner.ts";
import type { Upcoming } from "../jobs/upcoming.ts";
import { anonymous } from "../kernel/operation.ts";
import { reasonOfObstacle } from "../store/write-failure.ts";
import { assetRoutes } from "./downloads/asset-downloads.ts";
import type { Features } from "./features.ts";
import { gitRoute } from "./git-access.ts";
import { healthRoutes } from "./health/health-routes.ts";
import type { InstanceContext } from "./instance-context.ts";
import { signInMethodsOf } from "./oidc.ts";
import type { Foundation } from "./open-store.ts";
import { operations } from "./operations.ts";

export interface Ports {
  readonly features: Features;
  readonly limits: { readonly windows: RateLimits; readonly idempotency: Idempotency };
  readonly meter: Meter;
  readonly outbound: Outbound;
  readonly metrics: (organization_id?: string) => Promise<string>;
  readonly queueLoad: () => Promise<QueueLoad>;
  readonly clockControl: ClockControl;
  readonly instruments: {
    readonly inbox: Inbox;
    readonly faults: Faults;
    readonly journal: Journal;
    readonly notices: Notices;
    readonly upcoming: () => Promise<Upcoming[]>;
  };
  readonly closing: AbortSignal;
  readonly running: RunningRequests;
}

interface Parts extends Ports {
  readonly foundation: Foundation;
  readonly settings: Settings;
  readonly host: InstanceContext;
  readonly authenticator: Authenticator;
  readonly writer: Writer;
  readonly allowsOrigin: AllowsOrigin;
  readonly fairShares: FairShares;
  readonly longLists: LongLists;
}

/** What the operations of `/v1` and those of the dashboard share. */
const runPorts = ({ foundation, settings, features, limits, meter, fairShares, longLists, closing }: Parts) => ({
  services: features,
  idempotency: limits.idempotency,
  bodyLimit: settings.bodyLimit,
  rules: { trusted: settings.trustNetwork },
  log: foundation.log,
  meter,
  fairShares,
  longLists,
  closing,
});

export function routeTable(parts: Parts): Route[] {
  const { foundation, settings, host } = parts;
  const { serviceState, log, clock, store } = foundation;
  const { behindProxy, mode, codeHost, publicUrl, trustNetwork: trusted } = settings;
  const { key: metricsKey } = settings.metrics;
  const rules = { trusted };
  const { features, meter, metrics, clockControl, instruments, closing, authenticator, writer, allowsOrigin } = parts;
  const audit = createAudit({ store, behindProxy, record: features.audit.record, via: "api" });
  const run = createRunOperation({
    ...runPorts(parts),
    received: settings.dashboard ? host.requests.received : undefined,
    authenticator,
    audit,
    writer,
  });
  const live = createLiveRoute({
    feed: features.feed,
    events: features.events,
    authenticator,
    log,
    meter,
    closing,
    operation: stream,
    allowsOrigin: (origin) => origin === publicUrl || allowsOrigin(origin),
  });
  const { snapshots, forks, worlds, preview, deliverInEveryOrder } = host;
  const controlled = {
    ...features,
    ...instruments,
    clock,
    clockControl,
    snapshots,
    forks,
    worlds,
    preview,
    deliverInEveryOrder,
    accepting: (request: RequestContext) => audit(accept, request, anonymous).caller,
  };
  const readable = async () => serviceState().read({ name: "vault" });
  const obstacle = () => (store.engine.obstacle ? reasonOfObstacle(store.engine.obstacle) : features.apps.obstacle());
  const hookWriter = createWriter({ envelope: "flat", now: clock.iso, base: "" });
  return [
    ...(settings.dashboard ? dashboardTable(parts) : []),
    live,
    ...operationRoutes({ operations, authenticator, run }),
    ...(mode === "dev"
      ? controlRoutes({
          calls: controlCalls,
          ports: controlled,
          now: host.iso,
          rules,
          changed: () => instruments.notices.tell("instruments"),
        })
      : []),
    ...healthRoutes({ mode, authenticator, readable, obstacle, metrics, behindProxy, metricsKey }),
    ...hookRoutes({ ...features, ...parts, writer: hookWriter, secret: codeHost.secret, mode, behindProxy }),
    ...assetRoutes(features),
    ...gitTable(parts),
    { method: "*", path: "/**", name: unnamed, access: () => unauthenticated, answer: refuse },
  ];
}

/** The routes of repositories that are pushed to the service, and of the proxy that asks for certificates. */
function gitTable({ foundation, settings, host, features, authenticator, closing }: Parts): Route[] {
  const { mode, publicUrl, behindProxy } = settings;
  const { repositories, platform } = host.runtimes;
  const entryPorts = { behindProxy, record: features.audit.record, via: "push" } as const;
  const audited = createAudit({ store: foundation.store, ...entryPorts });
  const entries = createEntries(entryPorts);
  const serve =
    repositories &&
    platform?.createGitHost({
      ...{ ...features, ...foundation, audited, entries, authenticator, operations, repositories, closing },
    });
  return [
    gitRoute({ authenticator, serve, elsewhere: features.elsewhere }),
    tlsRoute({ mode, hasHost: features.apps.hasHost, publicUrl }),
  ];
}

const refuse = () => {
  throw notHere();
};

/** After a restore, the same link may lead to another picture, so browsers must revalidate their copy every time. */
const uncached = (route: Route): Route => ({
  ...route,
  leavesNoTrace: true,
  async answer(request, authentication) {
    const answer = await route.answer(request, authentication);
    return { ...answer, headers: { ...answer.headers, "cache-control": "private, no-cache" } };
  },
});

/**
 * The routes of the dashboard. They call the operations of `/v1` as the user of a session or, in `dev`, as a chosen
 * user.
 */
function dashboardTable(parts: Parts): Route[] {
  const { foundation, settings, features, meter, queueLoad, closing, authenticator, instruments, outbound } = parts;
  const { runtimes, requests, mount } = parts.host;
  const { clock, store } = foundation;
  const { mode, publicUrl, behindProxy, basePath } = settings;
  const { sessions, watchSession, organizations, users, feed } = features;
  const people = createPeople(features);
  const isDev = mode === "dev";
  const access = createDashboardAccess({
    mode,
    publicUrl,
    behindProxy,
    basePath,
    authenticator,
    identify: isDev ? people.identify : sessions.identify,
    watch: isDev ? () => () => {} : watchSession,
    first: people.first,
  });
  const run = createRunOperation({
    ...runPorts(parts),
    received: undefined,
    authenticator: access.authenticator,
    audit: createAudit({ store, behindProxy, record: features.audit.record, via: "dashboard" }),
    writer: createWriter({ envelope: "flat", now: clock.iso, base: dashboardApi }),
  });
  const { signInMethods, routes } = signInMethodsOf(foundation, settings, { features, outbound, access, mount });
  const history = createHistory({ samples: parts.host.samples, meter, jobs: queueLoad, now: clock.now, closing });
  return [
    ...assetRoutes(features, `${dashboardPath}/media/`).map(uncached),
    createLiveSocket({
      ...{ access, feed, now: clock.iso, meter, closing },
      notices: isDev ? instruments.notices : undefined,
    }),
    ...routes,
    ...lookUpRoutes({
      requests,
      deployments: features.deployments,
      mails: isDev ? features.mails : undefined,
      access,
      now: clock.iso,
    }),
    ...dashboardRoutes({
      mode,
      signInMethods,
      access,
      sessions,
      people,
      organizations,
      users,
      keys: features.keys,
      audit: features.audit,
      behindProxy,
      history,
      started: parts.host.started,
      hostsRepositories: runtimes.repositories !== undefined,
      operations,
      run,
      now: clock.iso,
    }),
  ];
}
