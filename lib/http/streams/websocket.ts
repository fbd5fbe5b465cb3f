import * as v from "valibot";
import type { RawData } from "ws";
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
import type { AllowsOrigin } from "../cors.ts";
import { base, queryOf, type RequestContext } from "../request-context.ts";
import type { Meter } from "../request-metrics.ts";
import type { Route } from "../route.ts";
import { EventSubscriber, messageOf } from "./event-subscriber.ts";
import { codes } from "./subscriber.ts";
import { createSubscribers } from "./subscribers.ts";
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
  readonly allowsOrigin: AllowsOrigin;
}

type Query = v.InferOutput<typeof streamQuery>;

/** The largest message of a client in bytes. Clients send only their key. */
const maxBytesIn = 4 * 1024;
const keyTimeout = "10s";
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

/** The WebSocket: an organization's events and state changes as they happen (schema/streams.md#the-websocket). */
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
  const upgrade = createWebSocketUpgrade(maxBytesIn);
  const subscribers = createSubscribers<EventSubscriber>({
    ...{ feed, meter, closing, authenticator },
    lost: "the API key is no longer valid",
    failed: (error) => log.error("a stream failed", { reason: reasonOf(error) }),
    sending(change) {
      const message = messageOf(change);
      if (!message) return undefined;
      const text = JSON.stringify(message);
      return (to) => to.publish(message, text);
    },
  });

  /** The first ping tells clients that the stream has begun. */
  const begin = (subscriber: EventSubscriber) => subscriber.socket.ping();

  /** Sends the events after the given one, then new messages. */
  const replay = async (subscriber: EventSubscriber, { organization_id }: Caller, after: string) => {
    subscriber.hold();
    const past = await events.since(organization_id, after, maxReplayed + 1);
    // The id is from a state that a reset or a restore has replaced, so events after it would be wrong.
    if (!past)
      return subscriber.close(
        codes.unknown,
        `there is no event ${after}; after a reset or restore, connect again without after`,
      );
    if (past.length > maxReplayed)
      return subscriber.close(codes.tooFar, `more than ${maxReplayed} events since then; read GET /v1/events`);
    for (const message of past) subscriber.sendIfWanted(message, JSON.stringify(message));
    subscriber.resume(past.at(-1)?.id ?? after);
    begin(subscriber);
  };

  const subscribe = (
    subscriber: EventSubscriber,
    request: RequestContext,
    authentication: Authentication,
    { after }: Query,
  ) => {
    if (!subscribers.follow(subscriber, request, authentication)) return;
    if (after === undefined) return begin(subscriber);
    replay(subscriber, authentication.caller, after).catch((error) => {
      log.error("a stream could not replay events", { request_id: request.id, reason: reasonOf(error) });
      subscriber.close(codes.failed, "the service failed");
    });
  };

  /** Takes the key from the first message, because browsers cannot send headers with a WebSocket. */
  const expectKey = (subscriber: EventSubscriber, request: RequestContext, query: Query) => {
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
        const subscriber = new EventSubscriber(ws, query.events);
        subscribers.add(subscriber);
        if (closing.aborted) return;
        if (sendsKey(request)) subscribe(subscriber, request, authentication, query);
        else expectKey(subscriber, request, query);
      });
    },
  };
}
