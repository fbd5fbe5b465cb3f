import type { Notices } from "../emulator/instruments/notices.ts";
import type { Change, ChangeFeed } from "../features/events/change-feed.ts";
import type { Meter } from "../http/request-metrics.ts";
import { type Route, unnamed } from "../http/route.ts";
import { Subscriber } from "../http/streams/subscriber.ts";
import { createSubscribers } from "../http/streams/subscribers.ts";
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

/** A small limit, because the page sends nothing. */
const maxBytesIn = 1024;
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
function inBursts(send: (hint: object) => void): (kind: string) => void {
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

/** `/dashboard/live`: names the changed records. A page that missed messages catches up by reading the records. */
export function createLiveSocket({ access, feed, now, meter, closing, notices }: Ports): Route {
  const upgrade = createWebSocketUpgrade(maxBytesIn);
  const send = (to: Subscriber, hint: object) => to.send(JSON.stringify({ ...hint, now: now() }));
  const subscribers = createSubscribers<Subscriber>({
    feed,
    meter,
    closing,
    authenticator: access.authenticator,
    lost: "the session has ended",
    failed: () => {},
    sending: (change) => (to) => send(to, hintOf(change)),
  });

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
      const program = await programOfPage();
      return upgrade(request, incoming, (socket) => {
        const page = new Subscriber(socket);
        subscribers.add(page);
        if (closing.aborted || !subscribers.follow(page, request, authentication)) return;
        if (notices) socket.once("close", notices.listen(inBursts((hint) => send(page, hint))));
        // Lets a tab with an older version of the page ask for a reload.
        send(page, { kind: "hello", program });
      });
    },
  };
}
