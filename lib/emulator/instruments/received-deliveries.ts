import type { Outbound, OutboundRequest, Sent } from "../../drivers/outbound/outbound.ts";
import type { DeliveredEvent, WebhookPayload } from "../../features/events/catalog.ts";
import { type Clock, systemTimer } from "../../kernel/clock.ts";
import { hostOf, inboxOf } from "./inbox.ts";

/** A delivery that a receiver responded to, with any status. `ReceivedDelivery<"deployment.failed">` types its data. */
export interface ReceivedDelivery<E extends DeliveredEvent | "*" = "*"> {
  /**
   * The NAME of `https://NAME.inbox.test/…`; the host if a delivery to a public address was caught; null for any other
   * URL.
   */
  readonly endpoint: string | null;
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The raw text covered by the signature. */
  readonly body: string;
  readonly received_at: string;
  /** The status of the response. */
  readonly response: number;
  /** The header `X-Service-Event`; null without it. */
  readonly event: string | null;
  /** The event's data. Undefined if the body has another form, as for chat and monitoring integrations. */
  readonly data: E extends DeliveredEvent ? WebhookPayload<E>["data"] : unknown;
}

/** Older deliveries are dropped. */
const maxDeliveries = 1000;

export type ReceivedDeliveries = ReturnType<typeof createReceivedDeliveries>;

function dataOf(body: string): unknown {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === "object" && parsed !== null && "data" in parsed ? parsed.data : undefined;
  } catch {
    // A body that is not JSON has no data.
    return undefined;
  }
}

export function createReceivedDeliveries(outbound: Outbound, clock: Clock) {
  let received: ReceivedDelivery[] = [];
  const waiting = new Set<() => void>();
  return {
    async send(request: OutboundRequest): Promise<Sent> {
      const sent = await outbound.send(request);
      if (sent.status !== null) {
        const { url, headers, body } = request;
        received.push({
          endpoint: inboxOf(url) ?? (sent.isOutside ? hostOf(url) : null),
          method: "POST",
          url,
          headers,
          body,
          received_at: clock.iso(),
          response: sent.status,
          event: headers["x-service-event"] ?? null,
          data: dataOf(body),
        });
        if (received.length > maxDeliveries) received.shift();
        for (const wake of waiting) wake();
      }
      return sent;
    },
    callBackend: outbound.callBackend,
    checkUrl: outbound.checkUrl,
    close: outbound.close,
    /** Removes and returns the oldest matching delivery; undefined if there is none. */
    take(matches: (delivery: ReceivedDelivery) => boolean): ReceivedDelivery | undefined {
      const index = received.findIndex(matches);
      return index < 0 ? undefined : received.splice(index, 1)[0];
    },
    /** Resolves at the next delivery, when the service's clock reaches `until`, or when `signal` aborts. */
    waitForNext: (until: number, signal: AbortSignal): Promise<void> =>
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
    save: () => [...received],
    load(saved: unknown): void {
      received = [...(saved as ReceivedDelivery[])];
    },
  };
}
