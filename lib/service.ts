import { begin, createKey } from "./begin.ts";
import { compose, jobs, operations } from "./compose.ts";
import { createControl } from "./control/control.ts";
import { createApp } from "./http/app.ts";
import { createGate } from "./http/gate.ts";
import { hostCheck, hostname } from "./http/hosts.ts";
import { createIdempotency } from "./http/idempotency.ts";
import { type Listening, listen } from "./http/server.ts";
import { createWindows } from "./http/windows.ts";
import { createLoop } from "./jobs/loop.ts";
import { type Periodic, periodicJobs, plantPeriodic } from "./jobs/periodic.ts";
import { createRunner } from "./jobs/runner.ts";
import { instant, isoOf, latest } from "./kernel/clock.ts";
import { parseDuration } from "./kernel/duration.ts";
import type { Role, Scope } from "./kernel/roles.ts";
import { openFoundation } from "./open.ts";
import { type Options, parseOptions } from "./options.ts";
import { defaultSeed, parseSeed } from "./seed.ts";
import { createLateWrites, type LateWrites } from "./store/late.ts";

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
  const { store, clock, log, kept } = foundation;
  let late: LateWrites | undefined;
  let listening: (Listening & { host: string })[] = [];
  let closing = false;

  try {
    const origin = () => settings.publicUrl?.replace(/\/$/, "") ?? listening[0]?.url ?? "http://localhost";
    const features = compose(foundation, settings, {
      wake: (at) => loop.wake(at),
      origin,
    });
    const windows = createWindows({ store, clock, dirty: () => late?.soon() });
    const idempotency = createIdempotency({ store, clock });
    const periodic: Periodic[] = [
      {
        kind: "service.prune",
        cron: "17 3 * * *",
        run: async () => {
          for (const { prune } of [idempotency, windows, features.mails, features.invitations]) await prune();
        },
      },
    ];
    const runner = createRunner({
      store,
      clock,
      log,
      services: features,
      owner: `process ${process.pid}`,
      jobs: [...jobs, ...periodicJobs(periodic, clock, log)],
    });
    const keepClock = async (at: number) => {
      if (clock.mode !== "real") await store.transaction((tx) => kept(tx).write({ name: "clock", value: isoOf(at) }));
    };
    const loop = createLoop({ clock, runner, log, keepClock });
    late = createLateWrites({
      store,
      log,
      writers: [windows.flush, features.keys.flush],
    });

    const advanceTo = async (at: number): Promise<Advanced> => {
      const ran = await loop.advanceTo(at);
      return { now: clock.iso(), ran };
    };
    const settle = async (): Promise<Advanced> => ({
      ran: await loop.settle(),
      now: clock.iso(),
    });

    const apiKey = await begin(foundation, features, settings, parsed);
    await plantPeriodic(periodic, store, clock);
    await loop.start();

    const control = createControl({
      clock,
      advanceTo,
      settle,
      mails: features.mails,
      invitations: features.invitations,
      bodyLimit: settings.bodyLimit,
    });
    const hosts = [...settings.hosts, ...(settings.publicUrl ? [new URL(settings.publicUrl).host] : [])];
    const app = createApp({
      operations,
      services: features,
      idempotency,
      store,
      clock,
      log,
      ids: foundation.ids,
      gate: createGate({
        identify: features.keys.identify,
        windows,
        rateLimit: settings.rateLimit,
        addressRateLimit: settings.addressRateLimit,
      }),
      envelope: settings.envelope,
      bodyLimit: settings.bodyLimit,
      behindProxy: settings.behindProxy,
      checkHost: (host) => hostCheck([...hosts, ...listening.map((one) => one.host)])(host),
      beside: settings.mode === "dev" ? control : async () => undefined,
      closing: () => closing,
    });

    return {
      apiKey,
      get url() {
        return listening[0]?.url;
      },
      async fetch(input, init) {
        const target = input instanceof Request ? input : new Request(new URL(String(input), "http://localhost"), init);
        return app.fetch(input instanceof Request && init ? new Request(input, init) : target);
      },
      async listen({ port = 0, host = "127.0.0.1" } = {}) {
        const server = await listen(app.handle, { port, host });
        const entry = { ...server, host: hostname(host) };
        listening.push(entry);
        return {
          ...server,
          async close(grace) {
            listening = listening.filter((one) => one !== entry);
            await server.close(grace);
          },
        };
      },
      clock: {
        now: () => new Date(clock.now()),
        advance(by) {
          const ms = parseDuration(by);
          if (ms === undefined) throw new TypeError(`"${by}" is not a duration such as "30s" or "2h42m30s"`);
          return advanceTo(Math.min(clock.now() + ms, latest));
        },
        advanceTo(at) {
          const to = at instanceof Date ? at.getTime() : instant(at);
          if (to === undefined || Number.isNaN(to))
            throw new TypeError(`"${at}" is not an instant such as "2026-01-01T00:00:00Z"`);
          return advanceTo(to);
        },
      },
      settle,
      keys: { create: (wanted) => createKey(foundation, features, wanted) },
      async close() {
        if (closing) return;
        closing = true;
        await Promise.all(listening.map((server) => server.close()));
        await loop.stop();
        await late?.flush();
        await keepClock(clock.now());
        await store.close();
        foundation.release();
      },
    };
  } catch (error) {
    late?.stop();
    await store.close();
    foundation.release();
    throw error;
  }
}
