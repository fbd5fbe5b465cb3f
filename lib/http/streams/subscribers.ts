import type { Change, ChangeFeed } from "../../features/events/change-feed.ts";
import { systemTimer } from "../../kernel/clock.ts";
import type { Problem } from "../../kernel/errors.ts";
import type { Authentication, Authenticator } from "../authenticate.ts";
import { hold, keepOpen } from "../limits/connections.ts";
import type { RequestContext } from "../request-context.ts";
import type { Meter } from "../request-metrics.ts";
import { FanOut } from "./fan-out.ts";
import { codes, type Subscriber } from "./subscriber.ts";

interface Ports<S> {
  readonly feed: ChangeFeed;
  readonly meter: Meter;
  readonly closing: AbortSignal;
  readonly failed: (error: unknown) => void;
  readonly authenticator: Pick<Authenticator, "watch">;
  /** The message to a client whose key or session has ended. */
  readonly lost: string;
  /** Returns the function that sends a change; undefined if no subscriber may see it. Called once per organization. */
  readonly sending: (change: Exclude<Change, { kind: "missed" }>) => ((to: S) => void) | undefined;
}

/** The interval of pings. A subscriber without a pong since the last one is cut. */
const heartbeat = "30s";

/** The WebSockets that follow the changes of their organizations, which may be thousands. */
export function createSubscribers<S extends Subscriber>(ports: Ports<S>) {
  const { feed, meter, closing, failed, authenticator, lost, sending } = ports;
  const all = new FanOut<S>(failed);
  const byOrganization = new Map<string, FanOut<S>>();
  let stop = () => {};

  const miss = (one: S) => one.close(codes.leaving, "changes were missed; connect again");
  const leave = (one: S) => one.close(codes.leaving, (closing.reason as Problem).message);

  const tell = (change: Change) => {
    if (change.kind === "missed") {
      for (const its of byOrganization.values()) its.send(miss, true);
      return;
    }
    const its = byOrganization.get(change.organization_id);
    const send = its && sending(change);
    if (send && !its.send(send)) its.send(miss, true);
  };

  const start = () => {
    const unlisten = feed.listen(tell);
    const ping = () => {
      all.send((one) => {
        if (!one.isAlive) one.socket.terminate();
        one.isAlive = false;
        one.socket.ping();
      });
      cancel = systemTimer(heartbeat, ping);
    };
    let cancel = systemTimer(heartbeat, ping);
    stop = () => {
      unlisten();
      cancel();
    };
  };

  closing.addEventListener("abort", () => {
    // After the waiting messages. Subscribers that follow no organization yet have none waiting.
    for (const its of byOrganization.values()) its.send(leave, true);
    const following = new Set([...byOrganization.values()].flatMap(({ receivers }) => [...receivers]));
    for (const one of all.receivers) if (!following.has(one)) leave(one);
  });

  return {
    /** Counts and pings an opened WebSocket. */
    add(subscriber: S): void {
      const { socket } = subscriber;
      if (all.receivers.size === 0) start();
      all.receivers.add(subscriber);
      socket.once("close", meter.opened("websocket"));
      socket.on("pong", () => {
        subscriber.isAlive = true;
      });
      socket.once("close", () => {
        all.receivers.delete(subscriber);
        if (all.receivers.size === 0) stop();
      });
      if (closing.aborted) leave(subscriber);
    },
    /** Sends the caller's changes from now on. Closes the WebSocket and returns false if there are too many. */
    follow(subscriber: S, { incoming }: RequestContext, authentication: Authentication): boolean {
      const { organization_id } = authentication.caller;
      const release = incoming ? hold(incoming.socket, organization_id) : () => {};
      if (!release) {
        subscriber.close(codes.limited, "the organization has too many open pages and streams");
        return false;
      }
      if (incoming) keepOpen(incoming.socket);
      const its = byOrganization.get(organization_id) ?? new FanOut<S>(failed);
      its.receivers.add(subscriber);
      byOrganization.set(organization_id, its);
      const unwatch = authenticator.watch(authentication, () => subscriber.close(codes.unauthorized, lost));
      subscriber.socket.once("close", () => {
        unwatch();
        release();
        its.receivers.delete(subscriber);
        if (its.receivers.size === 0) byOrganization.delete(organization_id);
      });
      return true;
    },
  };
}
