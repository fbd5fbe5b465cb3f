import { setMaxListeners } from "node:events";
import { type Settings, sendsMail } from "../config/parse-options.ts";
import { functionMailer, type Mailer } from "../drivers/mail/contract.ts";
import { createSmtpMailer } from "../drivers/mail/smtp.ts";
import { closedBut, mutedOutbound } from "../drivers/outbound/closed-outbound.ts";
import { createOutbound, type Outbound } from "../drivers/outbound/outbound.ts";
import { createFaults } from "../emulator/instruments/faults.ts";
import { createInbox } from "../emulator/instruments/inbox.ts";
import { createJournal } from "../emulator/instruments/journal.ts";
import { createNotices } from "../emulator/instruments/notices.ts";
import { createReceivedDeliveries } from "../emulator/instruments/received-deliveries.ts";
import type { App } from "../http/app.ts";
import { createRunningRequests } from "../http/handler.ts";
import { createIdempotency } from "../http/idempotency.ts";
import { createRateLimits } from "../http/rate-limit.ts";
import { createMeter } from "../http/request-metrics.ts";
import { createClockControl } from "../jobs/clock-control.ts";
import { createLoop } from "../jobs/loop.ts";
import { pruneJob } from "../jobs/periodic.ts";
import { createRunner, type Runner } from "../jobs/runner.ts";
import { createUpcoming } from "../jobs/upcoming.ts";
import { type Clock, isoOf } from "../kernel/clock.ts";
import { AbortController } from "../kernel/node/web.ts";
import type { Snapshotable } from "../kernel/snapshotable.ts";
import { noNetworks } from "../kernel/trusted-networks.ts";
import { createDeferredWrites } from "../store/deferred-writes.ts";
import { writeTime } from "../store/service-state.ts";
import { createFeatures, type Features, featureJobs } from "./features.ts";
import { createMetrics } from "./health/metrics.ts";
import { createInterface } from "./http-interface.ts";
import type { InstanceContext } from "./instance-context.ts";
import { followMachineClock } from "./machine-clock.ts";
import type { Foundation } from "./open-store.ts";
import { tracedDriver, tracedJobs, tracedOutbound, tracedRunner, untraced } from "./tracing.ts";

/** One state of a service: its base and everything that runs on it. */
export interface HostState {
  readonly foundation: Foundation;
  readonly wiring: Wiring;
  readonly apiKey: string | null;
}

export type Wiring = ReturnType<typeof wire>;

/** The state outside the rows, in the order in which a snapshot loads it. */
type Snapshotables = Readonly<Record<string, Snapshotable>>;

function createClosing(): AbortController {
  const closing = new AbortController();
  // Every waiting request adds a listener, and Node warns of a leak at the eleventh.
  setMaxListeners(0, closing.signal);
  return closing;
}

/** Everything that runs on one base: network, features, job loop, instruments, HTTP interface. */
export function wire(foundation: Foundation, settings: Settings, host: InstanceContext) {
  const { store, clock, log, ids, random, assets, tracer } = foundation;
  const { mode } = settings;
  const closing = createClosing();

  const network = host.isMuted ? mutedOutbound : networkOf(settings);
  const inbox = createInbox({ ...inboxPorts(settings), network, now: clock.iso, log, sinks: host.sinks });
  const received = createReceivedDeliveries(inbox, clock);
  const outbound = tracedOutbound(mode === "dev" ? received : network, tracer);

  const mailer = mailerOf(settings, host);

  const { runtimes, company, mount } = host;
  const origin = () => (mount.origin() ?? host.listening[0]?.url ?? "http://localhost") + settings.basePath;
  const dirty = () => deferredWrites.schedule();
  const features = createFeatures(foundation, settings, {
    ...runtimes,
    driver: tracedDriver(runtimes.driver, tracer),
    wake: untraced((at) => loop.wake(at), tracer),
    dirty,
    origin,
    outbound,
    isMuted: host.isMuted,
    mailer,
  });
  const { limits, deferredWrites } = wireLimits(foundation, features, dirty);
  const { windows, idempotency } = limits;

  const { runner, loop, storeClock } = wireJobs(foundation, features, [idempotency, windows], host);
  followMachineClock(foundation, () => loop.wake(clock.now()));
  const { notices, journal } = wireJournal(clock, features, mode);
  const moved = () => notices.tell("instruments");
  const upcoming = createUpcoming(store);
  const clockControl = createClockControl({ clock, loop, sink: host.sinks.caller, moved, upcoming, company });
  const faults = createFaults({ clock, closing: closing.signal });

  const meter = createMeter();
  const measured = wireMetrics(foundation, features, runner, { meter, mode, closing: closing.signal });
  const instruments = { inbox, faults, journal, notices, upcoming };
  const running = createRunningRequests();
  const http = { features, limits, outbound, ...measured, clockControl, instruments, closing: closing.signal, running };
  let app: App | undefined;

  const beside = { clock, ids, random, windows, keys: features.keys, inbox, received, faults, journal };
  return {
    mode,
    clock,
    closing,
    outbound,
    mailer,
    features,
    deferredWrites,
    loop,
    meter,
    storeClock,
    clockControl,
    inbox,
    received,
    faults,
    journal,
    upcoming: instruments.upcoming,
    snapshotables: { ...beside, assets: assets.snapshotable } satisfies Snapshotables,
    running,
    /** Built at the first request: its routes take the longest to build, and many forks are never called. */
    get app(): App {
      app ??= createInterface(foundation, settings, host, http);
      return app;
    },
  };
}

function wireLimits({ store, clock, log, encryption, opened }: Foundation, { keys }: Features, dirty: () => void) {
  const { counters } = opened.cluster ?? {};
  const windows = createRateLimits({ store, clock, dirty, counters });
  const deferredWrites = createDeferredWrites({ store, log, writes: [windows.flush, keys.flush] });
  return { limits: { windows, idempotency: createIdempotency({ store, clock, encryption }) }, deferredWrites };
}

/** The parts of a service, besides its records, that testers read. */
function wireJournal(clock: Clock, features: Features, mode: Settings["mode"]) {
  const notices = createNotices();
  const journal = createJournal(clock, () => notices.tell("journal"));
  if (mode === "dev") features.feed.listen(journal.change);
  return { notices, journal };
}

/** With the option strict, inboxes forward only to this machine. */
const inboxPorts = ({ strict, transport, trustNetwork }: Settings) => ({
  transport,
  trustNetwork: strict ? noNetworks : trustNetwork,
});

function networkOf({ strict, mode, trustNetwork: trusted, outbound: { allow, send } }: Settings): Outbound {
  const confined = mode === "dev" && send !== true;
  return strict ? closedBut(createOutbound({ mode })) : createOutbound({ mode, allow, trusted, confined });
}

/** Without a mail server, mails are stored. A muted fork sends none, and reports them as sent. */
function mailerOf(settings: Settings, { isMuted }: InstanceContext): Mailer | undefined {
  const { url = "", transport, insecure } = settings.mail;
  if (!sendsMail(settings)) return undefined;
  if (isMuted) return functionMailer(() => {});
  return transport ? functionMailer(transport) : createSmtpMailer({ url, insecure });
}

interface Prunable {
  prune(): Promise<void>;
}

/** The job loop, and the daily job that removes old records. */
function wireJobs(
  foundation: Foundation,
  features: Features,
  others: readonly Prunable[],
  { runtimes, company }: Pick<InstanceContext, "runtimes" | "company">,
) {
  const { store, clock, log, serviceState, owner, opened, tracer } = foundation;
  const { audit, mails, invitations, pushes, previews, outbox, generations, sessions, domains } = features;
  const prunables = [...others, audit, mails, invitations, pushes, previews, outbox, generations, sessions, domains];
  const prune = async () => {
    for (const prunable of prunables) await prunable.prune();
  };
  const plainRunner = createRunner({
    store,
    clock,
    log,
    isShared: opened.cluster !== undefined,
    runtimeId: runtimes.runtimeId,
    services: features,
    owner,
    jobs: tracedJobs([...featureJobs, pruneJob(prune, clock, log)], tracer),
  });
  const runner = tracedRunner(plainRunner, tracer);
  const storeClock = async (at: number) => {
    await store.transaction("rows", (tx) => writeTime(serviceState(tx), isoOf(at), clock));
  };
  const loop = createLoop({ clock, runner, log, storeClock, isShared: opened.cluster !== undefined, company });
  return { runner, loop, storeClock };
}

type Process = Pick<Parameters<typeof createMetrics>[0], "meter" | "mode" | "closing">;

function wireMetrics({ store, clock }: Foundation, features: Features, runner: Runner, process: Process) {
  const metrics = createMetrics({
    ...process,
    clock,
    feed: features.feed,
    databaseBytes: store.engine.size,
    logBytes: store.engine.logSize,
    isWritable: () => store.engine.obstacle === undefined,
    jobs: runner.load,
    deliveries: features.outbox.pending,
    deployments: features.rollout.unfinished,
    generations: features.execution.unfinished,
  });
  return { meter: process.meter, metrics, queueLoad: runner.load };
}
