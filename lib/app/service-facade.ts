import * as v from "valibot";
import { insideSender } from "../client/in-process.ts";
import { type Client, clientOver } from "../client/typed-client.ts";
import { type Listening, listen } from "../http/server.ts";
import { type Instruments, instruments } from "../instruments/instruments.ts";
import { latestInstant, parseInstant } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import type { Role, Scope } from "../kernel/roles.ts";
import { checkArgument, record, textOf, wholeNumber } from "../kernel/validation.ts";
import type { Plan } from "../organizations/schema.ts";
import { createKey, createOrganization, wantedKey } from "./bootstrap.ts";
import type { Host } from "./snapshots.ts";

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
  /**
   * The typed client of `svc-server/client`, without a port: `service.client().projects.create({ … })`. Its calls go
   * straight to their operations and are not tried again. `apiKey` is the service's own unless set; "" is none. Throws
   * `validation_failed` for any other field.
   */
  client(as?: { apiKey?: string }): Client;
  /**
   * Opens a port. `port` 0 (the default) picks a free one, `host` is 127.0.0.1 unless set. Rejects with `validation_failed`
   * for what can be no port, and with Node's own error for one that cannot be opened.
   */
  listen(at?: { port?: number; host?: string }): Promise<Listening>;
  readonly clock: {
    now(): Date;
    /** Moves a manual clock by a duration such as `"2h"`; all that falls due on the way has happened when it resolves. */
    advance(by: string): Promise<Advanced>;
    /** Moves a manual clock to an instant. It never goes back. */
    advanceTo(at: string | Date): Promise<Advanced>;
    /** Moves a manual clock to the next time at which work is due, and runs it. Without such work it stays where it is. */
    advanceToNext(): Promise<Advanced>;
    /** Moves a manual clock on until no work is due any more but what comes back for ever, such as the daily clean-up. */
    runUntilIdle(): Promise<Advanced>;
    /** Lets the clock stand: from now on it is a manual one. A snapshot from before brings the running one back (`dev`). */
    freeze(): void;
  };
  /** Runs all that is due now, and resolves when nothing is. */
  settle(): Promise<Advanced>;
  /** Keeps the whole state: rows, clock, pending work, identifiers, random numbers (`dev`). */
  snapshot(): Promise<{ id: string; now: string }>;
  /**
   * Brings a kept state back; this is the only way in which time goes back. What is under way when it is called changes
   * nothing any more. Sinks and open ports stay as they are. Rejects with `not_found` for an unknown snapshot.
   */
  restore(id: string): Promise<{ id: string; now: string }>;
  /**
   * Brings back the state of just after the start: what the seed made. Rejects with `limit_reached` where the database
   * file had more than 1 GiB then.
   */
  reset(): Promise<{ now: string }>;
  /**
   * An independent copy in memory: rows, clock, pending work, identifiers, random numbers, snapshots. It shares the
   * functions that it was given (sinks, transport, drivers), listens at no port of the first, and is closed by itself (`dev`).
   */
  fork(): Promise<Service>;
  readonly keys: {
    /** Makes an API key for a user of this role; the user is made where the organization has none. */
    create(wanted: {
      organization?: string;
      role?: Role;
      scopes?: readonly Scope[];
      name?: string;
    }): Promise<{ key: string }>;
  };
  readonly organizations: {
    /** Makes an organization of this name and plan (`starter`); `keys.create({ organization: name })` gives it its people. */
    create(wanted: { name: string; plan?: Plan }): Promise<{ id: string; name: string; plan: Plan }>;
  };
  /** How many jobs a manual clock that is moved or settled is running at this very moment. */
  readonly busy: number;
  /** Ends everything: the port, the loop, the store. No timer and no handle stays. */
  close(): Promise<void>;
}

/** Where a port may be opened. An empty host would be every address of the machine. */
const place = record({ port: v.optional(wholeNumber(0, 65_535), 0), host: v.optional(textOf(1, 253), "127.0.0.1") });
/** A key that is null is none, as for the client over a port. */
const speaker = record({ apiKey: v.nullish(v.string("must be a string")) });

/** What users hold. */
export function facade(worlds: Host): Service {
  const { listening, known, snapshots } = worlds;
  const app = () => worlds.now.parts.app;
  const fork = async () => facade(await worlds.fork());
  const tools = () => instruments(worlds.now.parts, fork);
  const isClosed = () => worlds.now.parts.life.closing.signal.aborted;
  const insistOpen = () => {
    if (isClosed()) throw new Error("the service is closed; make a new one");
  };
  const time = () => {
    insistOpen();
    return worlds.now.parts.time;
  };
  return {
    get apiKey() {
      return worlds.now.apiKey;
    },
    get url() {
      return listening[0]?.url;
    },
    async fetch(input, init) {
      if (input instanceof Request) return app().fetch(init ? new Request(input, init) : input);
      return app().fetch(new Request(new URL(String(input), "http://localhost"), init));
    },
    client(as = {}) {
      const { apiKey = worlds.now.apiKey } = checkArgument(speaker, "as", as, '{ apiKey: "sk_live_…" }');
      return clientOver(insideSender(app, apiKey || undefined));
    },
    async listen(at = {}) {
      insistOpen();
      const { port, host } = checkArgument(place, "at", at, "{ port: 7400 }");
      const serve: Parameters<typeof listen>[0] = {
        handle: (request, response) => app().handle(request, response),
        upgrade: (request, socket, head) => app().upgrade(request, socket, head),
      };
      const server = await listen(serve, { port, host });
      // close() could not know of a port that was not open yet.
      if (isClosed()) await server.close();
      insistOpen();
      known.add(host);
      listening.push(server);
      const close: Listening["close"] = (grace) => {
        if (listening.includes(server)) listening.splice(listening.indexOf(server), 1);
        return server.close(grace);
      };
      return { ...server, close };
    },
    clock: {
      now: () => new Date(worlds.now.foundation.clock.now()),
      async advance(by) {
        return time().advanceBy(milliseconds(by));
      },
      async advanceTo(at) {
        const to = at instanceof Date ? at.getTime() : parseInstant(at);
        if (to === undefined || Number.isNaN(to) || to > latestInstant)
          throw new TypeError(`"${at}" is not an instant such as "2026-01-01T00:00:00Z"`);
        return time().advanceTo(to);
      },
      advanceToNext: async () => time().advanceToNext(),
      runUntilIdle: async () => time().runUntilIdle(),
      freeze() {
        // Refused in the mode start, as every instrument is.
        tools();
        worlds.now.foundation.clock.freeze();
      },
    },
    settle: async () => time().settle(),
    ...snapshots,
    fork,
    get inbox() {
      return tools().inbox;
    },
    get scenarios() {
      return tools().scenarios;
    },
    get faults() {
      return tools().faults;
    },
    get journal() {
      return tools().journal;
    },
    get deployments() {
      return tools().deployments;
    },
    get generations() {
      return tools().generations;
    },
    get webhooks() {
      return tools().webhooks;
    },
    keys: {
      async create(wanted) {
        const { foundation, parts } = worlds.now;
        const right = '{ role: "viewer" }';
        const { key } = await createKey(foundation, parts.features, checkArgument(wantedKey, "wanted", wanted, right));
        return { key };
      },
    },
    organizations: {
      create: (wanted) => createOrganization(worlds.now.foundation, worlds.now.parts.features, wanted),
    },
    get busy() {
      return worlds.now.parts.loop.runningByHand();
    },
    close: worlds.close,
  };
}
