import { begin, createKey, wantedKey } from "./begin.ts";
import { end, type Life } from "./closing.ts";
import { compose, jobs, operations } from "./compose.ts";
import { createControl } from "./control/control.ts";
import { createInbox, type Sink } from "./drivers/inbox.ts";
import { createOutbound } from "./drivers/outbound.ts";
import { createHooks } from "./hooks/hooks.ts";
import { createWriter } from "./http/answer.ts";
import { createApp } from "./http/app.ts";
import { createGate } from "./http/gate.ts";
import { createHosts } from "./http/hosts.ts";
import { createIdempotency } from "./http/idempotency.ts";
import { type Listening, listen } from "./http/server.ts";
import { createWindows } from "./http/windows.ts";
import { createLoop, type Loop } from "./jobs/loop.ts";
import { type Periodic, periodicJobs, plantPeriodic } from "./jobs/periodic.ts";
import { createRunner } from "./jobs/runner.ts";
import { check } from "./kernel/api.ts";
import { instant, isoOf, latest } from "./kernel/clock.ts";
import { parseDuration } from "./kernel/duration.ts";
import { invalid } from "./kernel/errors.ts";
import type { Role, Scope } from "./kernel/roles.ts";
import { type Foundation, openFoundation } from "./open.ts";
import { type Options, parseOptions, type Settings } from "./options.ts";
import { defaultSeed, parseSeed } from "./seed.ts";
import { createLateWrites } from "./store/late.ts";

/** What moving the clock did: the time it stands at, and how many jobs ran. */
export interface Advanced {
  readonly now: string;
  readonly ran: number;
}

/** A whole deployment-and-generation service, in this process. */
export interface Service {
  /** A key of the first owner, where this start made or was given one. */
  readonly apiKey: string | null;
  /** Where it listens; undefined while it does not. */
  readonly url: string | undefined;
  /**
   * Calls the interface in process, without a port: `service.fetch('/v1/projects', { headers })`. A path or a URL, of
   * which the path counts.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Opens a port. `port` 0 (the default) picks a free one, `host` is 127.0.0.1 unless set. */
  listen(at?: { port?: number; host?: string }): Promise<Listening>;
  readonly clock: {
    now(): Date;
    /** Moves a manual clock by a duration such as `"2h"`; all that falls due on the way has happened when it resolves. */
    advance(by: string): Promise<Advanced>;
    /** Moves a manual clock to an instant. It never goes back. */
    advanceTo(at: string | Date): Promise<Advanced>;
  };
  /** Runs all that is due now, and resolves when nothing is. */
  settle(): Promise<Advanced>;
  readonly webhooks: {
    /** Answers in the process what is sent to `https://NAME.inbox.test/…`, without a socket (`dev`). */
    sink(name: string, answer: Sink): void;
  };
  readonly keys: {
    /** Makes an API key for a user of this role; the user is made where the organization has none. */
    create(wanted: {
      organization?: string;
      role?: Role;
      scopes?: readonly Scope[];
      name?: string;
    }): Promise<{ key: string }>;
  };
  /** Ends everything: the port, the loop, the store. No timer and no handle stays. */
  close(): Promise<void>;
}

/**
 * Makes a service. Without options it is an emulator in memory, with one organization and an owner's key.
 *
 * @throws {BadOptions} where an option is wrong, {BadSeed} where the seed is, {Unusable} where the database is.
 */
export async function createService(options: Options = {}): Promise<Service> {
  const settings = parseOptions(options);
  const parsed = parseSeed(settings.seed ?? defaultSeed);
  const foundation = await openFoundation(settings, { exclusive: true });
  try {
    const parts = assemble(foundation, settings);
    const apiKey = await begin(foundation, parts.features, settings, parsed);
    await plantPeriodic(parts.periodic, foundation.store, foundation.clock);
    await parts.loop.start();
    await parts.features.rollout.resume();
    const { allow } = settings.outbound;
    if (allow.length > 0) foundation.log.warn("not only public addresses are sent to", { allow: allow.join(", ") });
    return facade(foundation, parts, apiKey);
  } catch (error) {
    await foundation.store.close();
    foundation.release();
    throw error;
  }
}

type Parts = ReturnType<typeof assemble>;

/** Wires features, job loop and interface together. */
function assemble(foundation: Foundation, settings: Settings) {
  const { store, clock, log, ids, kept } = foundation;
  const life: Life = { closing: false, listening: [] };
  const origin = () => settings.publicUrl?.replace(/\/$/, "") ?? life.listening[0]?.url ?? "http://localhost";
  const network = createOutbound({ mode: settings.mode, allow: settings.outbound.allow });
  const inbox = createInbox(network, settings.transport);
  const outbound = settings.mode === "dev" ? inbox : network;
  const features = compose(foundation, settings, { wake: (at) => loop.wake(at), origin, outbound });
  const windows = createWindows({ store, clock, dirty: () => late.soon() });
  const late = createLateWrites({ store, log, writers: [windows.flush, features.keys.flush] });
  const idempotency = createIdempotency({ store, clock });

  const prune = async () => {
    for (const one of [idempotency, windows, features.mails, features.invitations, features.pushes]) await one.prune();
  };
  const periodic: Periodic[] = [{ kind: "service.prune", cron: "17 3 * * *", run: prune }];
  const allJobs = [...jobs, ...periodicJobs(periodic, clock, log)];
  const runner = createRunner({
    store,
    clock,
    log,
    services: features,
    owner: `process ${process.pid}`,
    jobs: allJobs,
  });
  const keepClock = async (at: number) => {
    if (clock.mode !== "real") await store.transaction((tx) => kept(tx).write({ name: "clock", value: isoOf(at) }));
  };
  const loop = createLoop({ clock, runner, log, keepClock });
  const time = moveTime(clock, loop);

  const { rateLimit, addressRateLimit, bodyLimit, behindProxy, envelope, hosts, publicUrl } = settings;
  const control = createControl({ ...time, ...features, clock, bodyLimit });
  const writer = createWriter({ envelope: "flat", now: clock.iso, base: "" });
  const { secret } = settings.codeHost;
  const hooks = createHooks({ pushes: features.pushes, writer, secret, mode: settings.mode });
  const known = createHosts([...hosts, ...(publicUrl ? [new URL(publicUrl).host] : [])]);
  const gate = createGate({ identify: features.keys.identify, windows, rateLimit, addressRateLimit });
  const app = createApp({
    ...{ operations, services: features, gate, idempotency, store, clock, log, ids, envelope, bodyLimit, behindProxy },
    checkHost: known.check,
    beside: async (exchange) => (settings.mode === "dev" ? await control(exchange) : undefined) ?? hooks(exchange),
    closing: () => life.closing,
  });
  return { life, known, outbound, inbox, features, late, periodic, keepClock, loop, time, app };
}

/** Moving time, the same for the library and the control interface. Throws a 422 where that is not possible. */
function moveTime(clock: Foundation["clock"], loop: Loop) {
  const advance = async (path: "by" | "to", aim: (now: number) => number): Promise<Advanced> => {
    if (clock.mode !== "manual") throw invalid(path, "moves a manual clock only; start with the clock manual");
    const ran = await loop.advance((now) => {
      const at = aim(now);
      if (at < now) throw invalid(path, `must not be before ${isoOf(now)}: the clock never goes back`);
      if (!(at <= latest)) throw invalid(path, `must not lead beyond ${isoOf(latest)}`);
      return at;
    });
    return { now: clock.iso(), ran };
  };
  return {
    advanceBy: (ms: number) => advance("by", (now) => now + ms),
    advanceTo: (at: number) => advance("to", () => at),
    settle: async (): Promise<Advanced> => ({ ran: await loop.settle(), now: clock.iso() }),
  };
}

/** What users hold. */
function facade(foundation: Foundation, parts: Parts, apiKey: string | null): Service {
  const { app, life, known, inbox, time, features } = parts;
  const { clock } = foundation;
  let ending: Promise<void> | undefined;
  return {
    apiKey,
    get url() {
      return life.listening[0]?.url;
    },
    async fetch(input, init) {
      if (input instanceof Request) return app.fetch(init ? new Request(input, init) : input);
      return app.fetch(new Request(new URL(String(input), "http://localhost"), init));
    },
    async listen({ port = 0, host = "127.0.0.1" } = {}) {
      if (life.closing) throw new Error("the service is closed; make a new one");
      const server = await listen(app.handle, { port, host });
      known.add(host);
      life.listening.push(server);
      const close: Listening["close"] = (grace) => {
        life.listening = life.listening.filter((one) => one !== server);
        return server.close(grace);
      };
      return { ...server, close };
    },
    clock: {
      now: () => new Date(clock.now()),
      async advance(by) {
        const ms = parseDuration(by);
        if (ms === undefined) throw new TypeError(`"${by}" is not a duration such as "30s" or "2h42m30s"`);
        return time.advanceBy(ms);
      },
      async advanceTo(at) {
        const to = at instanceof Date ? at.getTime() : instant(at);
        if (to === undefined || Number.isNaN(to) || to > latest)
          throw new TypeError(`"${at}" is not an instant such as "2026-01-01T00:00:00Z"`);
        return time.advanceTo(to);
      },
    },
    settle: time.settle,
    webhooks: { sink: inbox.sink },
    keys: {
      async create(wanted) {
        const { key } = await createKey(foundation, features, check(wantedKey, wanted));
        return { key };
      },
    },
    close() {
      ending ??= end(foundation, { ...parts, outbox: features.outbox });
      return ending;
    },
  };
}
