import * as v from "valibot";
import { type Client, clientOver } from "../client/typed-client.ts";
import { type Instruments, instruments, requireDev } from "../emulator/instruments/instruments.ts";
import type { SinkError } from "../emulator/instruments/sinks.ts";
import type { Plan } from "../features/organizations/schema.ts";
import type { Listening } from "../http/server.ts";
import type { Advanced } from "../jobs/clock-control.ts";
import { ownRequest } from "../kernel/node/web.ts";
import type { Role, Scope } from "../kernel/roles.ts";
import { checkArgument, record, refuseArguments, refuseArgumentsButContext } from "../kernel/validation.ts";
import type { Violation } from "../store/invariants.ts";
import { createAwaitedCalls } from "./awaited-calls.ts";
import { createKey, createOrganization, newKey } from "./bootstrap.ts";
import { type ClockTools, clockTools } from "./clock-tools.ts";
import { inProcessSender } from "./in-process-client.ts";
import { openPort } from "./open-port.ts";
import type { ServiceInstance } from "./service-instance.ts";
import { type StateTools, stateTools } from "./state-tools.ts";

/**
 * A whole deployment-and-generation service in this process. `Key` is `string | null` if the options do not guarantee a
 * key at every start.
 */
export interface Service<Key extends string | null = string>
  extends Instruments<Service<Key>>,
    StateTools<Service<Key>> {
  /** A key of the first owner; null unless this start created it or received it as an option. */
  readonly apiKey: Key;
  /** The address of the open port; undefined without one. */
  readonly url: string | undefined;
  /**
   * The URL of deployed apps on this machine, whatever `apps.url` says; an app's URL has `<environment>-<project>.`
   * before the host. Null without a runtime.
   */
  readonly appsUrl: string | null;
  /**
   * Calls the interface in process, without a port: `service.fetch('/v1/projects', { headers })`. Takes a path or a URL;
   * only a URL's path counts.
   */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /**
   * The typed client of `svc-server/client`, without a port: `service.client().projects.create({ … })`. Calls go
   * directly to their operations and are never retried. As everywhere under `/v1`, unknown fields are ignored. `apiKey`
   * defaults to the service's own; "" sends none. Throws `validation_failed` for any other option.
   */
  readonly client: (as?: { apiKey?: string }) => Client;
  /**
   * Opens a port. `port` 0 (the default) picks a free one; `host` defaults to 127.0.0.1. Rejects with
   * `validation_failed` for an invalid port or host, and for a host beyond loopback without the option `publicUrl` or
   * `behindProxy`. Rejects with Node's own error if the port cannot be opened.
   */
  readonly listen: (at?: { port?: number; host?: string }) => Promise<Listening>;
  readonly clock: ClockTools;
  /** Runs all due work, and resolves when none is left. */
  readonly settle: () => Promise<Advanced>;
  readonly keys: {
    /** Makes an API key for a user with this role. If the organization has no such user, makes one. */
    readonly create: (wanted: {
      organization?: string;
      role?: Role;
      scopes?: readonly Scope[];
      name?: string;
    }) => Promise<{ key: string }>;
  };
  readonly organizations: {
    /**
     * Makes an organization with this name and plan (default `starter`). `keys.create({ organization: name })` adds
     * users to it.
     */
    readonly create: (wanted: { name: string; plan?: Plan }) => Promise<{ id: string; name: string; plan: Plan }>;
  };
  /**
   * Checks the store's invariants, such as "a job sends what is pending", and returns the violations; an empty list
   * means that all hold. Reads every row, for a database file in a worker thread. `svc-server doctor --deep` checks the
   * same.
   */
  readonly invariants: () => Promise<readonly Violation[]>;
  /** The errors that sinks threw, oldest first. Any error makes `createTestService` fail its test. */
  readonly sinkErrors: readonly SinkError[];
  /** The number of jobs that run because a manual clock is being moved or settled. */
  readonly busy: number;
  /** The call of `clock` or `settle` that has not settled, such as `clock.advance`. Undefined if there is none. */
  readonly unsettled: string | undefined;
  /** Closes everything: ports, job loop, store. No timer or handle remains. */
  close: () => Promise<void>;
}

/** A null key means no key, as in the network client. */
const clientOptions = record({ apiKey: v.nullish(v.string("must be a string")) });

/** The service object for users: every call goes to the host's current state. */
export function createFacade(host: ServiceInstance): Service<string | null> {
  const calls = createAwaitedCalls();
  const app = () => {
    calls.check();
    return host.state.wiring.app;
  };
  const states = calls.checked(stateTools(host, createFacade));
  /** The current state. Throws in the mode `start`, where all test instruments throw. */
  const inDev = () => {
    calls.check();
    return requireDev(host.state.wiring);
  };
  const tools = instruments(inDev, states.fork);
  const isClosed = () => host.state.wiring.closing.signal.aborted;
  const requireOpen = () => {
    calls.check();
    if (isClosed()) throw new Error("the service is closed; make a new one");
  };
  const clockControl = () => {
    requireOpen();
    return host.state.wiring.clockControl;
  };
  const service: Service<string | null> = {
    get apiKey() {
      return host.state.apiKey;
    },
    get url() {
      return host.listening[0]?.url;
    },
    get appsUrl() {
      return host.runtimes.localUrl() ?? null;
    },
    async fetch(input, init) {
      const current = app();
      const request = ownRequest(input, init);
      // Nothing is awaited in between, so calls made before close() also start before it.
      const answered = async () =>
        host.mount.around(request instanceof Promise ? await request : request, current.fetch);
      return host.company.counted(answered());
    },
    client(as = {}) {
      const { apiKey = host.state.apiKey } = checkArgument(clientOptions, "as", as, '{ apiKey: "sk_live_…" }');
      return clientOver(
        inProcessSender(app, () => host.state.foundation.clock, host.company.counted, apiKey || undefined),
      );
    },
    async listen(at = {}) {
      requireOpen();
      const server = await openPort(host, at);
      // close() cannot see a port that is still being opened.
      if (isClosed()) await server.close();
      requireOpen();
      return server;
    },
    clock: clockTools({
      calls,
      control: clockControl,
      now: () => host.state.foundation.clock.now(),
      inDev,
    }),
    settle: (...given: unknown[]) =>
      calls.watch("settle", async () => {
        refuseArgumentsButContext("settle", given, "clock.advance moves the clock");
        return clockControl().settle();
      }),
    ...states,
    ...tools,
    keys: {
      async create(wanted) {
        calls.check();
        const { foundation, wiring } = host.state;
        const right = '{ role: "viewer" }';
        const { key } = await createKey(foundation, wiring.features, checkArgument(newKey, "wanted", wanted, right));
        return { key };
      },
    },
    organizations: {
      async create(wanted) {
        calls.check();
        return createOrganization(host.state.foundation, host.state.wiring.features, wanted);
      },
    },
    async invariants(...given: unknown[]) {
      refuseArguments("invariants", given, "it checks all rules");
      requireOpen();
      const { foundation, wiring } = host.state;
      return foundation.opened.violations(wiring.closing.signal);
    },
    sinkErrors: host.sinks.errors,
    get busy() {
      return host.state.wiring.loop.runningByHand();
    },
    get unsettled() {
      return calls.unsettled();
    },
    async close() {
      const forgotten = calls.atEnd();
      // A call that was not awaited may be why a scenario was never used, so it is reported first.
      await host.close().catch((error) => {
        throw forgotten ?? error;
      });
      if (forgotten) throw forgotten;
    },
  };
  // In the mode `start`, even reading one of these properties throws.
  for (const [name, tool] of Object.entries(tools))
    if (typeof tool === "object") Object.defineProperty(service, name, { get: () => inDev() && tool });
  return service;
}
