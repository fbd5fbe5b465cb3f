import type { Outbound, OutboundRequest } from "../drivers/outbound/outbound.ts";
import { type Clock, systemTimer } from "../kernel/clock.ts";
import type { Snapshotable } from "../kernel/snapshotable.ts";
import { inboxOf } from "./inbox.ts";

/** A delivery that a receiver answered, whatever its answer was. */
export interface ReceivedDelivery {
  /** The NAME of `https://NAME.inbox.test/…`; null where it went elsewhere. */
  readonly endpoint: string | null;
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The raw text that the signature covers. */
  readonly body: string;
  readonly received_at: string;
  /** The status that was answered. */
  readonly response: number;
  /** What `X-Service-Event` says; null where it is not sent. */
  readonly event: string | null;
  /** The event's data; undefined in bodies of another form, such as those of a chat. */
  readonly data: unknown;
}

/** As many are kept for those who ask later; the oldest go first. */
const most = 1000;

export interface ReceivedDeliveries extends Outbound, Snapshotable {
  /** Takes the oldest one that matches, so that the next call gets the next; undefined where none has arrived. */
  take(matches: (arrival: ReceivedDelivery) => boolean): ReceivedDelivery | undefined;
  /** Resolves when another one arrives, when the service's clock would show `until`, or when `left` is aborted. */
  another(until: number, left: AbortSignal): Promise<void>;
}

function dataOf(body: string): unknown {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === "object" && parsed !== null && "data" in parsed ? parsed.data : undefined;
  } catch {
    // A body of another form has no data.
    return undefined;
  }
}

function arrivalOf({ url, headers, body }: OutboundRequest, received_at: string, response: number): ReceivedDelivery {
  let read: { readonly data: unknown } | undefined;
  const event = headers["x-service-event"] ?? null;
  return {
    ...{ endpoint: inboxOf(url) ?? null, method: "POST", url, headers, body, received_at, response, event },
    // Most are never looked at.
    get data() {
      read ??= { data: dataOf(body) };
      return read.data;
    },
  };
}

/** Watches what goes out, and remembers what arrived. */
export function createReceivedDeliveries(outbound: Outbound, clock: Clock): ReceivedDeliveries {
  let arrived: ReceivedDelivery[] = [];
  const waiting = new Set<() => void>();
  return {
    async send(request) {
      const sent = await outbound.send(request);
      if (sent.status !== null) {
        arrived.push(arrivalOf(request, clock.iso(), sent.status));
        if (arrived.length > most) arrived.shift();
        for (const wake of waiting) wake();
      }
      return sent;
    },
    ask: (question) => outbound.ask(question),
    judge: (url) => outbound.judge(url),
    close: () => outbound.close(),
    take(matches) {
      const place = arrived.findIndex(matches);
      return place < 0 ? undefined : arrived.splice(place, 1)[0];
    },
    another: (until, left) =>
      new Promise((resolve) => {
        const end = () => {
          cancel();
          waiting.delete(end);
          left.removeEventListener("abort", end);
          resolve();
        };
        const cancel = systemTimer(clock.until(until) ?? 0, end, { hold: true });
        waiting.add(end);
        left.addEventListener("abort", end);
      }),
    save: () => [...arrived],
    load(kept) {
      arrived = [...(kept as ReceivedDelivery[])];
    },
  };
}
