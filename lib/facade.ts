import type { Parts } from "./assemble.ts";
import { createKey, wantedKey } from "./begin.ts";
import { end } from "./closing.ts";
import { type Listening, listen } from "./http/server.ts";
import { type Instruments, instruments } from "./instruments.ts";
import { check } from "./kernel/api.ts";
import { instant, latest } from "./kernel/clock.ts";
import { parseDuration } from "./kernel/duration.ts";
import type { Role, Scope } from "./kernel/roles.ts";
import type { Foundation } from "./open.ts";

/** What moving the clock did: the time it stands at, and how many jobs ran. */
export interface Advanced {
  readonly now: string;
  readonly ran: number;
}

/** A whole deployment-and-generation service, in this process. */
export interface Service extends Instruments {
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

/** What users hold. */
export function facade(foundation: Foundation, parts: Parts, apiKey: string | null): Service {
  const { app, life, known, time, features } = parts;
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
      if (life.closing.signal.aborted) throw new Error("the service is closed; make a new one");
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
    get inbox() {
      return instruments(parts).inbox;
    },
    get webhooks() {
      return instruments(parts).webhooks;
    },
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
