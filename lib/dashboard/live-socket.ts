import type { WebSocket } from "ws";
import type { Notices } from "../emulator/instruments/notices.ts";
import type { Change, ChangeFeed } from "../features/events/change-feed.ts";
import { hold, keepOpen } from "../http/limits/connections.ts";
import type { Meter } from "../http/request-metrics.ts";
import { type Route, unnamed } from "../http/route.ts";
import { FanOut } from "../http/streams/fan-out.ts";
import { codes } from "../http/streams/subscriber.ts";
import { createWebSocketUpgrade, isHandshake } from "../http/streams/websocket-upgrade.ts";
import { systemTimer } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import type { DashboardAccess } from "./access.ts";
import { programOfPage } from "./page-files.ts";

interface Ports {
  readonly access: DashboardAccess;
  readonly feed: ChangeFeed;
  readonly now: () => string;
  readonly meter: Meter;
  readonly closing: AbortSignal;
  /** Changes that no record shows (`dev`). */
  readonly notices: Notices | undefined;
}

/** A page that is told of changes. */
interface Page {
  send(hint: object): void;
  close(code: number, reason: string): void;
}

/** A small limit, because the page sends nothing. */
const mostBytesIn = 1024;
/** The most unsent bytes for one page. A slower page is disconnected; it reconnects and reads everything again. */
const mostUnsent = 1024 * 1024;
const heartbeat = "30s";
const noticePause = "50ms";

/** The part of a change that the page needs: which records to read again. */
const hintOf = (change: Exclude<Change, { kind: "missed" }>): object => {
  switch (change.kind) {
    case "event":
      return { kind: "event", event: change.event };
    case "try":
      return { kind: "delivery", id: change.endpoint_id };
    case "rights":
      return { kind: "rights", id: change.user_id };
    case "delivery":
      return { kind: "delivery" };
    default:
      return { kind: change.kind, id: change.id };
  }
};

/** Combines a burst of notices into one message of each kind. */
function together(send: (hint: object) => void): (kind: string) => void {
  const waiting = new Set<string>();
  return (kind) => {
    if (waiting.size === 0)
      systemTimer(noticePause, () => {
        for (const one of waiting) send({ kind: one });
        waiting.clear();
      });
    waiting.add(kind);
  };
}

/**
 * `/dashboard/live`: reports which records changed, never their content. So after missed messages a page can catch up
 * by reading the records.
 */
export function createLiveSocket({ access, feed, now, meter, closing, notices }: Ports): Route {
  const upgrade = createWebSocketUpgrade(mostBytesIn);
  /** The pages of each organization, which may be thousands. */
  const pages = new Map<string, FanOut<Page>>();
  const add = (organization_id: string, page: Page): (() => void) => {
    const its = pages.get(organization_id) ?? new FanOut<Page>(() => {});
    if (pages.size === 0) stop = feed.listen(tell);
    pages.set(organization_id, its);
    its.receivers.add(page);
    return () => {
      its.receivers.delete(page);
      if (its.receivers.size === 0) pages.delete(organization_id);
      if (pages.size === 0) stop();
    };
  };
  let stop = () => {};
  const miss = ({ close }: Page) => close(codes.leaving, "changes were missed; connect again");
  const tell = (change: Change) => {
    if (change.kind === "missed") {
      for (const its of pages.values()) its.send(miss, true);
      return;
    }
    const its = pages.get(change.organization_id);
    if (its && !its.send(({ send }) => send(hintOf(change)))) its.send(miss, true);
  };

  const opened = (
    socket: WebSocket,
    organization_id: string,
    watch: (lost: () => void) => () => void,
    program: string,
  ) => {
    let isAlive = true;
    const send = (hint: object) => {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(JSON.stringify({ ...hint, now: now() }));
      if (socket.bufferedAmount > mostUnsent) socket.close(codes.slow, "the page reads too slowly");
    };
    const leave = () => socket.close(codes.leaving, "the service is shutting down, or its state was replaced");
    const ping = () => {
      if (!isAlive) socket.terminate();
      isAlive = false;
      socket.ping();
      cancel = systemTimer(heartbeat, ping);
    };
    let cancel = systemTimer(heartbeat, ping);
    const unwatch = watch(() => socket.close(codes.unauthorized, "the session has ended"));
    const remove = add(organization_id, { send, close: (code, reason) => socket.close(code, reason) });
    const unnotice = notices?.listen(together(send)) ?? (() => {});
    const closed = meter.opened("websocket");
    closing.addEventListener("abort", leave);
    socket.on("pong", () => {
      isAlive = true;
    });
    socket.once("close", () => {
      for (const end of [cancel, unwatch, remove, unnotice, closed]) end();
      closing.removeEventListener("abort", leave);
    });
    if (closing.aborted) leave();
    // Lets a tab with an older version of the page ask for a reload.
    else send({ kind: "hello", program });
  };

  return {
    method: "UPGRADE",
    path: "/dashboard/live",
    name: unnamed,
    leavesNoTrace: true,
    access: access.authenticator.byKey,
    async answer(request, authentication) {
      const { incoming } = request;
      if (!incoming || !isHandshake(incoming))
        throw new Problem("upgrade_required", "this path is the WebSocket of the dashboard");
      const watch = (lost: () => void) => access.authenticator.watch(authentication, lost);
      const { organization_id } = authentication.caller;
      const program = await programOfPage();
      return upgrade(request, incoming, (socket) => {
        const release = hold(incoming.socket, organization_id);
        if (!release) {
          socket.once(
            "close",
            systemTimer("1s", () => socket.terminate()),
          );
          return socket.close(codes.limited, "the organization has too many open pages and streams");
        }
        socket.once("close", release);
        keepOpen(incoming.socket);
        opened(socket, organization_id, watch, program);
      });
    },
  };
}
