import * as v from "valibot";
import type { RawData, WebSocket } from "ws";
import type { ChangeFeed } from "../../features/events/change-feed.ts";
import { streamQuery } from "../../features/events/schema.ts";
import type { EventsService } from "../../features/events/service.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { type Log, reasonOf } from "../../kernel/log.ts";
import { authorize, type Caller, type Operation } from "../../kernel/operation.ts";
import { parseUrl } from "../../kernel/text/url.ts";
import { check } from "../../kernel/validation.ts";
import type { Answer } from "../answer.ts";
import type { Authentication, Authenticator } from "../authenticate.ts";
import { hold, keepOpen } from "../limits/connections.ts";
import { base, queryOf, type RequestContext } from "../request-context.ts";
import type { Meter } from "../request-metrics.ts";
import type { Route } from "../route.ts";
import { FanOut } from "./fan-out.ts";
import { codes, messageOf, Subscriber } from "./subscriber.ts";
import { createWebSocketUpgrade, isHandshake } from "./websocket-upgrade.ts";

interface Ports {
  readonly feed: ChangeFeed;
  readonly events: EventsService;
  readonly authenticator: Authenticator;
  readonly log: Log;
  readonly meter: Meter;
  readonly closing: AbortSignal;
  /** Declares path, scope and role. */
  readonly operation: Operation;
  /** Whether pages of this origin may use `/v1`. */
  readonly allowsOrigin: (origin: string) => boolean;
}

type Query = v.InferOutput<typeof streamQuery>;

/** The largest message of a client in bytes. Clients send only their key. */
const maxBytesIn = 4 * 1024;
const keyTimeout = "10s";
/** The interval of pings. A subscriber without a pong since the last one is cut. */
const heartbeat = "30s";
/** The most events to replay. */
const maxReplayed = 1000;

const codeOf: Readonly<Record<string, number>> = {
  unauthorized: codes.unauthorized,
  insufficient_role: codes.forbidden,
  insufficient_scope: codes.forbidden,
  rate_limited: codes.limited,
};

const firstMessage = v.object({ authorization: v.string() });

/** The key in the first message: bare, as `Bearer sk_live_…`, or as `{"authorization":"Bearer sk_live_…"}`. */
export function keyIn(text: string): string {
  if (!text.startsWith("{")) return text.trim();
  try {
    return v.parse(firstMessage, JSON.parse(text)).authorization;
  } catch {
    return "";
  }
}

/**
 * The WebSocket route: sends an organization's events and state changes as they happen
 * (schema/streams.md#the-websocket).
 */
export function createLiveRoute({
  feed,
  events,
  authenticator,
  log,
  meter,
  closing,
  operation,
  allowsOrigin,
}: Ports): Route {
  const failed = (error: unknown) => log.error("a stream failed", { reason: reasonOf(error) });
  const all = new FanOut<Subscriber>(failed);
  const { receivers: open } = all;
  const byOrganization = new Map<string, FanOut<Subscriber>>();
  const upgrade = createWebSocketUpgrade(maxBytesIn);
  let stop = () => {};

  const miss = (subscriber: Subscriber) => subscriber.close(codes.leaving, "changes were missed; connect again");

  /** Runs while there are subscribers. A message is serialized once for all subscribers of an organization. */
  const start = () => {
    const unlisten = feed.listen((change) => {
      if (change.kind === "missed") for (const its of byOrganization.values()) its.send(miss, true);
      const its = byOrganization.get(change.organization_id);
      const message = its && messageOf(change);
      if (!message) return;
      const text = JSON.stringify(message);
      if (!its.send((one) => one.publish(message, text))) its.send(miss, true);
    });
    const ping = () => {
      all.send((subscriber) => {
        if (!subscriber.isAlive) subscriber.socket.terminate();
        subscriber.isAlive = false;
        subscriber.socket.ping();
      });
      cancel = systemTimer(heartbeat, ping);
    };
    let cancel = systemTimer(heartbeat, ping);
    stop = () => {
      unlisten();
      cancel();
    };
  };

  const leaving = () => (closing.reason as Problem).message;
  closing.addEventListener("abort", () => {
    // Behind the messages that wait. Those whose key has not arrived yet get none.
    for (const its of byOrganization.values()) its.send((one) => one.close(codes.leaving, leaving()), true);
    const known = new Set([...byOrganization.values()].flatMap(({ receivers }) => [...receivers]));
    for (const one of open) if (!known.has(one)) one.close(codes.leaving, leaving());
  });

  /** The first ping tells clients that the stream has begun. */
  const begin = (subscriber: Subscriber) => subscriber.socket.ping();

  /** Sends the events after the given one, then new messages. */
  const replay = async (subscriber: Subscriber, { organization_id }: Caller, after: string) => {
    subscriber.hold();
    const past = await events.since(organization_id, after, maxReplayed + 1);
    // Its later events would be wrong: the id is of a state that a reset or a restore has replaced.
    if (!past)
      return subscriber.close(
        codes.unknown,
        `there is no event ${after}; after a reset or restore, connect again without after`,
      );
    if (past.length > maxReplayed)
      return subscriber.close(codes.tooFar, `more than ${maxReplayed} events since then; read GET /v1/events`);
    for (const message of past) subscriber.send(message, JSON.stringify(message));
    subscriber.resume(past.at(-1)?.id ?? after);
    begin(subscriber);
  };

  const subscribe = (
    subscriber: Subscriber,
    { id: request_id, incoming }: RequestContext,
    authentication: Authentication,
    { after }: Query,
  ) => {
    const { caller } = authentication;
    const release = incoming ? hold(incoming.socket, caller.organization_id) : () => {};
    if (!release) return subscriber.close(codes.limited, "the organization has too many open streams");
    if (incoming) keepOpen(incoming.socket);
    const mine = byOrganization.get(caller.organization_id) ?? new FanOut(failed);
    mine.receivers.add(subscriber);
    byOrganization.set(caller.organization_id, mine);
    const lost = () => subscriber.close(codes.unauthorized, "the API key is no longer valid");
    const unwatch = authenticator.watch(authentication, lost);
    subscriber.socket.once("close", () => {
      unwatch();
      release();
      mine.receivers.delete(subscriber);
      if (mine.receivers.size === 0) byOrganization.delete(caller.organization_id);
    });
    if (after === undefined) return begin(subscriber);
    replay(subscriber, caller, after).catch((error) => {
      log.error("a stream could not replay events", { request_id, reason: reasonOf(error) });
      subscriber.close(codes.failed, "the service failed");
    });
  };

  /** Takes the key from the first message, because browsers cannot send headers with a WebSocket. */
  const expectKey = (subscriber: Subscriber, request: RequestContext, query: Query) => {
    const noKey = () => subscriber.close(codes.unauthorized, "no API key arrived within 10 seconds");
    const cancel = systemTimer(keyTimeout, noKey);
    subscriber.socket.once("close", cancel);
    const take = async (data: RawData) => {
      cancel();
      try {
        const authentication = await authenticator.byLateKey(request, keyIn(String(data)));
        if (authentication.refusal) throw authentication.refusal;
        authorize(operation, authentication.caller);
        if (subscriber.socket.readyState === subscriber.socket.OPEN)
          subscribe(subscriber, request, authentication, query);
      } catch (error) {
        if (!(error instanceof Problem)) log.error("a key could not be checked", { reason: reasonOf(error) });
        const { code, message } = error instanceof Problem ? error : { code: "", message: "the service failed" };
        subscriber.close(codeOf[code] ?? codes.failed, message.slice(0, 120));
      }
    };
    subscriber.socket.once("message", (data) => void take(data));
  };

  const opened = (socket: WebSocket, query: Query): Subscriber => {
    const subscriber = new Subscriber(socket, query.events);
    if (open.size === 0) start();
    open.add(subscriber);
    socket.once("close", meter.opened("websocket"));
    socket.on("pong", () => {
      subscriber.isAlive = true;
    });
    socket.once("close", () => {
      open.delete(subscriber);
      if (open.size === 0) stop();
    });
    if (closing.aborted) subscriber.close(codes.leaving, leaving());
    return subscriber;
  };

  /** Browsers let any page open a WebSocket, so the service refuses pages that CORS does not allow. */
  const refuseForeign = ({ header }: RequestContext) => {
    const origin = header("origin");
    if (origin === undefined || allowsOrigin(origin)) return;
    if (parseUrl(origin)?.host === header("host")) return;
    throw new Problem("insufficient_role", `the option cors allows no stream for pages of ${origin.slice(0, 200)}`);
  };

  const isHere = ({ path }: RequestContext) => path === base + operation.path;
  const sendsKey = ({ header }: RequestContext) => header("authorization") !== undefined;

  return {
    method: "UPGRADE",
    path: "/**",
    name: "upgrade",
    access: (request) =>
      isHere(request) && !sendsKey(request) ? authenticator.byAddress(request) : authenticator.byKey(request),
    async answer(request, authentication): Promise<Answer> {
      if (!isHere(request)) throw new Problem("not_found", "there is no WebSocket at this path");
      if (sendsKey(request)) authorize(operation, authentication.caller);
      refuseForeign(request);
      const query = check(streamQuery, queryOf(request));
      const { incoming } = request;
      if (!incoming || !isHandshake(incoming)) return events.withoutUpgrade();
      return upgrade(request, incoming, (ws) => {
        const subscriber = opened(ws, query);
        if (closing.aborted) return;
        if (sendsKey(request)) subscribe(subscriber, request, authentication, query);
        else expectKey(subscriber, request, query);
      });
    },
  };
}
