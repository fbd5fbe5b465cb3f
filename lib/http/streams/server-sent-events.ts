import { systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { type Log, reasonOf } from "../../kernel/log.ts";
import type { Stream } from "../../kernel/node/stream.ts";
import { TextEncoder } from "../../kernel/node/web.ts";
import type { Cancellation } from "../limits/cancellation.ts";
import type { FairShares } from "../limits/fair-shares.ts";
import { inPieces } from "./in-pieces.ts";

/** The headers of Server-Sent Events. Proxies must not buffer or cache them. */
export const eventHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
} as const;

/** After this time without an entry, a comment keeps the connection alive: proxies drop silent connections. */
const heartbeat = "15s";

const line = (name: string, value: string) => `${name}: ${value}\n`;
const eventOf = (json: string, fields: string) => `${fields}${line("data", json)}\n`;
const problemEvent = ({ code, message }: Problem) =>
  eventOf(JSON.stringify({ code, message }), line("event", "problem"));

/**
 * A stream as Server-Sent Events: each entry with its id, then `end`, or `problem` in the form of an error. The next
 * entry is pulled only after the last one was read. A client that reads nothing for half a minute is dropped.
 */
export function eventStream(
  { entries }: Stream,
  write: (record: unknown) => string,
  { signal, end }: Pick<Cancellation, "signal" | "end">,
  log: Log,
  { acquire, charge }: FairShares,
  { request_id, organization_id }: { readonly request_id: string; readonly organization_id: string },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();

  const next = async (): Promise<{ text: string; last: boolean }> => {
    try {
      await acquire(organization_id);
      const { value, done } = await entries.next();
      if (!done) {
        const text = eventOf(write(value.record), line("id", value.id));
        charge(organization_id, 1, text.length, 1);
        return { text, last: false };
      }
      if (value) return { text: eventOf(JSON.stringify(value), line("event", "end")), last: true };
      const { reason } = signal;
      return { text: reason instanceof Problem ? problemEvent(reason) : "", last: true };
    } catch (error) {
      if (error instanceof Problem) return { text: problemEvent(error), last: true };
      log.error("a stream failed unexpectedly", { request_id, reason: reasonOf(error) });
      const failed = new Problem("internal_error", "the service failed; quote the request id");
      return { text: problemEvent(failed), last: true };
    }
  };

  let stopBeat = () => {};
  let stopEnd = () => {};
  async function* events(): AsyncGenerator<Uint8Array, void> {
    // `Promise.race` with the pending entry would leave a reaction there at each heartbeat.
    const slot: { event?: Awaited<ReturnType<typeof next>>; isBeat: boolean; wake(): void } = {
      isBeat: false,
      wake() {},
    };
    const beat = () => {
      stopBeat();
      slot.isBeat = false;
      stopBeat = systemTimer(heartbeat, () => {
        slot.isBeat = true;
        slot.wake();
      });
    };
    const ask = () =>
      void next().then((event) => {
        slot.event = event;
        slot.wake();
      });
    beat();
    try {
      // Sends the headers before the first entry.
      yield encoder.encode(": this is a stream\n\n");
      for (ask(); ; ) {
        if (!slot.event && !slot.isBeat)
          await new Promise<void>((resolve) => {
            slot.wake = resolve;
          });
        const { event } = slot;
        delete slot.event;
        beat();
        if (event?.text !== "") yield encoder.encode(event?.text ?? ": still here\n\n");
        if (event?.last) return;
        if (event) ask();
      }
    } finally {
      stopBeat();
    }
  }

  const { body, drop } = inPieces(events(), {
    ended() {
      end();
      stopEnd();
      entries
        .return(undefined)
        .catch((error) => log.error("a stream ended with a problem", { request_id, reason: reasonOf(error) }));
    },
    dropped(reason) {
      log.info("a stream was dropped", { request_id, reason });
      return new Error(`the stream was dropped: ${reason}`);
    },
  });
  // A client that does not read the last event must not delay the end.
  signal.addEventListener("abort", () => {
    stopEnd = systemTimer("1s", () => drop("its client did not read the end"));
  });
  return body;
}
