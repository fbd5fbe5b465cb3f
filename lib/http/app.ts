import type { Duplex } from "node:stream";
import { H3, H3Event } from "h3/node";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import { type Clock, monotonicNow } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import { createBatchPerTick, createYieldEvery64 } from "../kernel/event-loop.ts";
import type { Ids } from "../kernel/ids.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { authorize, type Operation } from "../kernel/operation.ts";
import type { Store } from "../store/store.ts";
import { type Answer, createWriter, type Envelope, type Writer } from "./answer.ts";
import type { Authenticator } from "./authenticate.ts";
import { shuttingDown } from "./cancellation.ts";
import { failed } from "./error-answer.ts";
import { arriving, type Faults, failureOf, spoilt, underFault } from "./fault.ts";
import type { Idempotency } from "./idempotency.ts";
import {
  base,
  type Called,
  exchangeOf,
  exchangeOfCall,
  exchangeOfUpgrade,
  isVersioned,
  type RequestContext,
} from "./request-context.ts";
import type { Count, Meter } from "./request-metrics.ts";
import { perform } from "./run-operation.ts";
import { refuse, send, written } from "./send.ts";
import type { Handler, Upgrade } from "./server.ts";

/** Paths beside the interface, such as the control interface: undefined where they know nothing of a path. */
export type Beside = (exchange: RequestContext) => Promise<Answer | undefined>;

export interface Ports {
  readonly operations: readonly Operation[];
  readonly services: unknown;
  readonly gate: Authenticator;
  readonly idempotency: Idempotency;
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly envelope: Envelope;
  readonly bodyLimit: number;
  readonly behindProxy: boolean;
  /** Throws 421; never asked in process, where there is no `Host`. */
  readonly checkHost: (host: string | undefined) => void;
  readonly beside: Beside;
  /** Asked before all others, and while the service shuts down too. */
  readonly health: Beside;
  /** Faults of the mode dev; undefined in the mode start. */
  readonly faults: Faults | undefined;
  /** Told of every request that is over; undefined where nobody asks. */
  readonly observe: ((seen: Observed) => void) | undefined;
  readonly meter: Meter;
  /** Takes a connection over, or throws the problem with which it is refused. */
  readonly upgrade: (exchange: RequestContext, socket: Duplex, head: Buffer) => Promise<void>;
  /** Aborted when the service shuts down: 503 from then on. */
  readonly closing: AbortSignal;
}

/** A request that is over, without what could be secret: its query, its headers, its bodies. */
export interface Observed {
  readonly request_id: string;
  readonly method: string;
  readonly path: string;
  /** Null where a fault broke the connection before anything was done, or whoever asked left while it held the request up. */
  readonly status: number | null;
  /** By the service's clock. */
  readonly duration_ms: number;
  /** Whose key it came with; null where that is not known. */
  readonly key_id: string | null;
}

/** What a path stands for: an operation, or the reason why there is none. */
type Target = Operation | { readonly problem: () => Problem };

/** The interface, to be called in process and to be given to a server. */
export interface App {
  fetch(request: Request): Promise<Response>;
  readonly handle: Handler;
  /** An operation by its name. Rejects where the connection of a request would have broken. */
  call(id: string, called: Called): Promise<Answer>;
  /** A request that asks for another protocol. */
  readonly upgrade: Upgrade;
}

/** The interface as an h3 application: h3 routes, every answer is made here. */
export function createApp(ports: Ports): App {
  const { operations, gate, clock, ids, log } = ports;
  const writer = createWriter({ envelope: ports.envelope, now: clock.iso, base });
  const app = new H3({ silent: true, allowMalformedURL: true });

  /** Tells the log, the meter and a tester's journal of a request that is over. */
  const tell = (exchange: RequestContext, answered: number, count: Count, duration_ms: number) => {
    const { id: request_id, method, path, key_id, begun, fault } = exchange;
    const ms = monotonicNow() - begun;
    count(answered, ms);
    const status = fault?.breaks === "drop" ? null : answered;
    const entry = { request_id, method, path, status, duration_ms: Math.round(ms * 10) / 10, key_id };
    log[exchange.isRoutine ? "debug" : "info"]("request", entry);
    ports.observe?.({ request_id, method, path, status, duration_ms, key_id });
  };

  const answerTo = async (exchange: RequestContext, target: Target, count: Count): Promise<Answer> => {
    const begun = clock.now();
    let answer: Answer;
    try {
      answer = await respond(ports, writer, gate, exchange, target);
    } catch (error) {
      answer = failed(ports, error, exchange, writer);
    }
    tell(exchange, answer.status, count, clock.now() - begun);
    return answer;
  };

  const serve = async (event: H3Event, target: Target, count: Count): Promise<Response> => {
    const exchange = exchangeOf(event, ids, ports.behindProxy);
    const answer = await answerTo(exchange, target, count);
    const response = send(answer, exchange, leave);
    return exchange.fault ? spoilt(response, answer.body, exchange.fault, exchange) : response;
  };

  const leave = createBatchPerTick((error) => log.error("an answer could not leave", { reason: reasonOf(error) }));
  const pace = createYieldEvery64();
  const elsewhere = ports.meter.count("none");
  const upgrades = ports.meter.count("upgrade");
  const named = new Map<string, (called: Called) => Promise<Answer>>();
  for (const [path, group] of byPath(operations)) {
    const route = base + path.replaceAll(/\{(\w+)\}/g, ":$1");
    const methods = group.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
    for (const operation of group) {
      const count = ports.meter.count(operation.id);
      named.set(operation.id, async (called) => {
        const exchange = exchangeOfCall({ ...called, path: base + called.path }, ids);
        const answer = await answerTo(exchange, operation, count);
        await pace();
        return arriving(answer, exchange);
      });
      app.on(operation.method, route, (event) => serve(event, operation, count));
      // h3 answers HEAD for GET only as long as no other method has a handler of the path.
      if (operation.method === "GET") app.on("HEAD", route, (event) => serve(event, operation, count));
    }
    app.all(route, (event) => serve(event, { problem: () => wrongMethod(methods) }, elsewhere));
  }
  const unknown = { problem: () => new Problem("not_found", "this path does not exist") };
  app.all("/**", (event) => serve(event, unknown, elsewhere));
  // Not `fetch`: every handler answers a Response, so nothing has to be made one.
  const handled = (request: Request) => app.handler(new H3Event(request)) as Promise<Response>;
  return {
    async fetch(request) {
      const response = await handled(request);
      // Afterwards, so that what was called before close() has begun before it.
      await pace();
      const failure = failureOf(response);
      if (failure) throw failure;
      return response;
    },
    async handle(req, res) {
      try {
        const response = await handled(new NodeRequest({ req, res }));
        if (response !== written) await sendNodeResponse(res, response);
      } catch (error) {
        // A reader that left in the middle of a stream is no fault of ours. Whatever it was, nobody else hears of it.
        if (!res.headersSent) log.error("a request failed unexpectedly", { reason: reasonOf(error) });
        res.destroy();
      }
    },
    call: (id, called) => named.get(id)?.(called) ?? Promise.reject(new TypeError(`no operation is called ${id}`)),
    async upgrade(request, socket, head) {
      const begun = clock.now();
      const exchange = exchangeOfUpgrade(request, ids, ports.behindProxy);
      const take = async (): Promise<Answer> => {
        if (ports.closing.aborted) throw shuttingDown();
        await ports.upgrade(exchange, socket, head);
        return { status: 101, headers: {}, body: null, request_id: exchange.id };
      };
      let answer: Answer;
      try {
        ports.checkHost(exchange.header("host"));
        exchange.fault = isVersioned(exchange) ? ports.faults?.(exchange) : undefined;
        answer = await (exchange.fault ? underFault(ports, writer, exchange, exchange.fault, take) : take());
      } catch (error) {
        answer = failed(ports, error, exchange, writer);
      }
      if (exchange.fault?.breaks) socket.destroy();
      else if (answer.status !== 101) refuse(socket, answer, exchange);
      tell(exchange, answer.status, upgrades, clock.now() - begun);
    },
  };
}

function byPath(operations: readonly Operation[]): Map<string, Operation[]> {
  const paths = new Map<string, Operation[]>();
  for (const operation of operations) paths.set(operation.path, [...(paths.get(operation.path) ?? []), operation]);
  return paths;
}

const wrongMethod = (methods: readonly string[]) =>
  new Problem("method_not_allowed", `this path takes ${methods.join(", ")}`, {
    headers: { allow: methods.join(", ") },
  });

const isOperation = (target: Target): target is Operation => "run" in target;

/**
 * CONTRACT section 1: 421 → 401 (429) → 429 → 404/405 → 403 → 415 → 413 → 400 → 422 → what needs the record. Rejects, or
 * throws at once: a promise less for every request to wait for.
 */
function respond(
  ports: Ports,
  writer: Writer,
  gate: Authenticator,
  exchange: RequestContext,
  target: Target,
): Promise<Answer> {
  if (exchange.socket) ports.checkHost(exchange.header("host"));
  if (!isVersioned(exchange)) return besides(ports, exchange);
  exchange.fault = ports.faults?.(exchange);
  if (!exchange.fault) return admit(ports, writer, gate, exchange, target);
  return underFault(ports, writer, exchange, exchange.fault, () => admit(ports, writer, gate, exchange, target));
}

async function besides(ports: Ports, exchange: RequestContext): Promise<Answer> {
  const health = await ports.health(exchange);
  if (health) return health;
  if (ports.closing.aborted) throw shuttingDown();
  const answer = await ports.beside(exchange);
  if (answer) return answer;
  throw new Problem("not_found", `this path does not exist; the interface is under ${base}`);
}

async function admit(
  ports: Ports,
  writer: Writer,
  gate: Authenticator,
  exchange: RequestContext,
  target: Target,
): Promise<Answer> {
  if (ports.closing.aborted) throw shuttingDown();
  const caller = await gate.enter(exchange, !(isOperation(target) && target.needs === "nothing"));
  // h3 takes a trailing slash for the path without it; the contract does not.
  if (exchange.path.endsWith("/"))
    throw new Problem("not_found", "this path does not exist; leave out the slash at its end");
  if (!isOperation(target)) throw target.problem();
  authorize(target, caller);
  const isRead = target.method === "GET" || target.needs === "nothing";
  return await perform(ports, writer, exchange, target, isRead ? caller : gate.confirmed(exchange, caller));
}
