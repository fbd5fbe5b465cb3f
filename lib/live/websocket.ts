import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import * as v from "valibot";
import type { RawData, WebSocket, WebSocketServer } from "ws";
import type { ChangeFeed } from "../events/change-feed.ts";
import { streamQuery } from "../events/schema.ts";
import type { EventsService } from "../events/service.ts";
import type { Authenticator } from "../http/authenticate.ts";
import { queryOf, type RequestContext } from "../http/request-context.ts";
import type { Meter } from "../http/request-metrics.ts";
import { pairsOf, stamp } from "../http/send.ts";
import { systemTimer } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { authorize, type Caller, type Operation } from "../kernel/operation.ts";
import { check } from "../kernel/validation.ts";
import { codes, messageOf, Stream } from "./subscriber.ts";

interface Ports {
  readonly feed: ChangeFeed;
  readonly events: EventsService;
  readonly gate: Authenticator;
  readonly log: Log;
  readonly meter: Meter;
  readonly closing: AbortSignal;
  /** The operation that this is: its path, scope and role. */
  readonly operation: Operation;
  readonly checkHost: (host: string | undefined) => void;
}

type Wanted = v.InferOutput<typeof streamQuery>;

/** A reader says its key and nothing else. */
const mostIn = 4 * 1024;
const patience = "10s";
const beat = "30s";
/** How many events a stream goes back at most. */
const mostBack = 1000;

const codeOf: Readonly<Record<string, number>> = {
  unauthorized: codes.unauthorized,
  insufficient_role: codes.forbidden,
  insufficient_scope: codes.forbidden,
  rate_limited: codes.limited,
};

const firstMessage = v.object({ authorization: v.string() });

/** The key in a first message: bare, as `Bearer sk_live_…`, or as `{"authorization":"Bearer sk_live_…"}`. */
export function keyIn(text: string): string {
  if (!text.startsWith("{")) return text.trim();
  try {
    return v.parse(firstMessage, JSON.parse(text)).authorization;
  } catch {
    return "";
  }
}

const isHandshake = ({ method, headers }: IncomingMessage) =>
  method === "GET" &&
  headers["sec-websocket-version"] === "13" &&
  /^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "");

/** The WebSocket of CONTRACT section 9: an organization's events and state changes as they happen. */
export function createLive({ feed, events, gate, log, meter, closing, operation, checkHost }: Ports) {
  const open = new Set<Stream>();
  const readers = new Map<string, Set<Stream>>();
  const exchanges = new WeakMap<IncomingMessage, RequestContext>();
  let server: Promise<WebSocketServer> | undefined;
  let stop = () => {};

  const begin = async (): Promise<WebSocketServer> => {
    const { WebSocketServer } = await import("ws");
    const made = new WebSocketServer({ noServer: true, maxPayload: mostIn, perMessageDeflate: false });
    made.on("headers", (lines, request) => {
      const exchange = exchanges.get(request);
      if (!exchange) return;
      const all = new Map([
        ...pairsOf(stamp(exchange.id, exchange.window)),
        ...Object.entries(exchange.fault?.headers ?? {}),
      ]);
      for (const [name, value] of all) lines.push(`${name}: ${value}`);
    });
    return made;
  };

  /** Runs while anybody reads: what happens is written once for all readers of an organization. */
  const start = () => {
    const deaf = feed.listen((change) => {
      const all = readers.get(change.organization_id);
      const message = all && messageOf(change);
      if (!message) return;
      const text = JSON.stringify(message);
      for (const stream of all) stream.tell(message, text);
    });
    const pulse = () => {
      for (const stream of open) {
        if (!stream.lives) stream.socket.terminate();
        stream.lives = false;
        stream.socket.ping();
      }
      calm = systemTimer(beat, pulse);
    };
    let calm = systemTimer(beat, pulse);
    stop = () => {
      deaf();
      calm();
    };
  };

  closing.addEventListener("abort", () => {
    for (const stream of open) stream.close(codes.leaving, "the service is shutting down");
  });

  /** Tells what happened after an event, then what happens. */
  const replay = async (stream: Stream, { organization_id }: Caller, after: string) => {
    stream.hold();
    const past = await events.since(organization_id, after, mostBack + 1);
    if (past.length > mostBack)
      return stream.close(codes.tooFar, `more than ${mostBack} events since then; read GET /v1/events`);
    for (const message of past) stream.send(message, JSON.stringify(message));
    stream.goOn(past.at(-1)?.id ?? after);
  };

  const read = (stream: Stream, exchange: RequestContext, caller: Caller, { after }: Wanted) => {
    const mine = readers.get(caller.organization_id) ?? new Set();
    readers.set(caller.organization_id, mine.add(stream));
    const unwatch = gate.watch(exchange, () => stream.close(codes.unauthorized, "the API key has stopped"));
    stream.socket.once("close", () => {
      unwatch();
      mine.delete(stream);
      if (mine.size === 0) readers.delete(caller.organization_id);
    });
    // The first ping tells a client that listens for it that the stream has begun.
    stream.socket.ping();
    if (after === undefined) return;
    replay(stream, caller, after).catch((error) => {
      log.error("a stream could not go back", { request_id: exchange.id, reason: reasonOf(error) });
      stream.close(codes.failed, "the service failed");
    });
  };

  /** A browser cannot send a header with a WebSocket, so the key may be the first message. */
  const expectKey = (stream: Stream, exchange: RequestContext, wanted: Wanted) => {
    const calm = systemTimer(patience, () => stream.close(codes.unauthorized, "no API key came within 10 seconds"));
    stream.socket.once("close", calm);
    const take = async (data: RawData) => {
      calm();
      try {
        const caller = await gate.knock(exchange, keyIn(String(data)));
        authorize(operation, caller);
        if (stream.socket.readyState === stream.socket.OPEN) read(stream, exchange, caller, wanted);
      } catch (error) {
        if (!(error instanceof Problem)) log.error("a key could not be judged", { reason: reasonOf(error) });
        const { code, message } = error instanceof Problem ? error : { code: "", message: "the service failed" };
        stream.close(codeOf[code] ?? codes.failed, message.slice(0, 120));
      }
    };
    stream.socket.once("message", (data) => void take(data));
  };

  const opened = (socket: WebSocket, exchange: RequestContext, caller: Caller | undefined, wanted: Wanted) => {
    const stream = new Stream(socket, wanted.events);
    if (open.size === 0) start();
    open.add(stream);
    socket.once("close", meter.opened("websocket"));
    socket.on("error", () => {});
    socket.on("pong", () => {
      stream.lives = true;
    });
    socket.once("close", () => {
      open.delete(stream);
      if (open.size === 0) stop();
    });
    if (closing.aborted) stream.close(codes.leaving, "the service is shutting down");
    else if (caller) read(stream, exchange, caller, wanted);
    else expectKey(stream, exchange, wanted);
  };

  /** A page of another host may not, even with a key that it was given. */
  const refuseForeign = (origin: string | undefined) => {
    if (origin === undefined) return;
    try {
      checkHost(new URL(origin).host);
    } catch {
      throw new Problem("insufficient_role", "a page of another origin must not open a stream");
    }
  };

  return {
    async upgrade(exchange: RequestContext, socket: Duplex, head: Buffer): Promise<void> {
      const isHere = exchange.path === `/v1${operation.path}`;
      const later = isHere && exchange.header("authorization") === undefined;
      const caller = await gate.enter(exchange, !later);
      if (!isHere) throw new Problem("not_found", "this path does not exist, or is no WebSocket");
      if (!later) authorize(operation, caller);
      refuseForeign(exchange.header("origin"));
      const wanted = check(streamQuery, queryOf(exchange));
      const request = exchange.socket;
      if (!request || !isHandshake(request)) return events.withoutUpgrade();
      server ??= begin();
      const made = await server;
      exchanges.set(request, exchange);
      made.handleUpgrade(request, socket, head, (ws) => opened(ws, exchange, later ? undefined : caller, wanted));
    },
  };
}
