import type { Outbound } from "../drivers/outbound/outbound.ts";
import { type Clock, systemTimer } from "../kernel/clock.ts";
import type { Snapshotable } from "../kernel/snapshotable.ts";
import { inboxOf } from "./inbox.ts";

/** A delivery that a receiver answered, with any status. */
export interface ReceivedDelivery {
  /** The NAME of `https://NAME.inbox.test/…`; null for other URLs. */
  readonly endpoint: string | null;
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The raw text that the signature covers. */
  readonly body: string;
  readonly received_at: string;
  /** The status of the answer. */
  readonly response: number;
  /** The header `X-Service-Event`; null without it. */
  readonly event: string | null;
  /** The event's data; undefined in bodies of another form, such as chat messages. */
  readonly data: unknown;
}

/** The number of deliveries that are stored; the oldest are dropped. */
const maxStored = 1000;

export interface ReceivedDeliveries extends Outbound, Snapshotable {
  /** Removes and returns the oldest delivery that matches; undefined if none has arrived. */
  take(matches: (delivery: ReceivedDelivery) => boolean): ReceivedDelivery | undefined;
  /** Resolves when another delivery arrives, when the service's clock reaches `until`, or when `signal` is aborted. */
  another(until: number, signal: AbortSignal): Promise<void>;
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

function receivedOf({ url, headers, body }: OutboundRequest, received_at: string, response: number): ReceivedDelivery {
  let read: { readonly data: unknown } | undefined;
  const event = headers["x-service-event"] ?? null;
  return {
    endpoint: inboxOf(url) ?? null,
    method: "POST",
    url,
    headers,
    body,
    received_at,
    response,
    event,
    // Parsed on demand: the data of most deliveries is never read.
    get data() {
      read ??= { data: dataOf(body) };
      return read.data;
    },
  };
}

/** Passes requests on, and records the deliveries that were answered. */
export function createReceivedDeliveries(outbound: Outbound, clock: Clock): ReceivedDeliveries {
  let received: ReceivedDelivery[] = [];
  const waiting = new Set<() => void>();
  return {
    async send(request) {
      const sent = await outbound.send(request);
      if (sent.status !== null) {
        arrived.push(receivedOf(request, clock.iso(), sent.status));
        if (arrived.length > maxStored) arrived.shift();
        for (const wake of waiting) wake();
      }
      return sent;
    },
    callBackend: (request) => outbound.callBackend(request),
    checkUrl: (url) => outbound.checkUrl(url),
    close: () => outbound.close(),
    take(matches) {
      const index = received.findIndex(matches);
      return index < 0 ? undefined : received.splice(index, 1)[0];
    },
    another: (until, signal) =>
      new Promise((resolve) => {
        const end = () => {
          cancel();
          waiting.delete(end);
          signal.removeEventListener("abort", end);
          resolve();
        };
        const cancel = systemTimer(clock.until(until) ?? 0, end, { hold: true });
        waiting.add(end);
        signal.addEventListener("abort", end);
      }),
    save: () => [...arrived],
    load(value) {
      arrived = [...(value as ReceivedDelivery[])];
    },
  };
}
