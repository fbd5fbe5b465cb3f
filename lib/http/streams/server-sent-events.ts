import { systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { type Log, reasonOf } from "../../kernel/log.ts";
import type { Stream } from "../../kernel/node/stream.ts";
import { createReadableStream, TextEncoder } from "../../kernel/node/web.ts";
import type { Cancellation } from "../limits/cancellation.ts";
import type { Throttle } from "../limits/fair-shares.ts";

/** The headers of Server-Sent Events. Proxies must not buffer or cache them. */
export const eventHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
} as const;

/** How often a comment keeps the connection alive. Proxies drop a silent connection after half a minute or more. */
const heartbeat = "15s";
/** A client that reads nothing is dropped after this many heartbeats. */
const mostMissedHeartbeats = 2;

const line = (name: string, value: string) => `${name}: ${value}\n`;
const eventOf = (json: string, fields: string) => `${fields}${line("data", json)}\n`;

/**
 * A stream as Server-Sent Events: each entry with its id, then `end`, or `problem` in the form of an error. The next
 * entry is pulled only after the last one was read, so a slow client costs no memory. A client that reads nothing for
 * half a minute is dropped.
 */
export function eventStream(
  { entries }: Stream,
  write: (record: unknown) => string,
  cancellation: Cancellation,
  log: Log,
  { take, takeTurn }: Throttle,
  { request_id, organization_id }: { readonly request_id: string; readonly organization_id: string },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let missed = 0;
  let isEnded = false;
  let stopTimer = () => {};
  const end = () => {
    isEnded = true;
    stopTimer();
    cancellation.end();
    entries
      .return(undefined)
      .catch((error) => log.error("a stream ended with a problem", { request_id, reason: reasonOf(error) }));
  };

  const next = async (): Promise<{ text: string; last: boolean }> => {
    try {
      await takeTurn(organization_id);
      const { value, done } = await entries.next();
      if (!done) {
        const text = eventOf(write(value.record), line("id", value.id));
        take(organization_id, 1, text.length, 1);
        return { text, last: false };
      }
      if (value) return { text: eventOf(JSON.stringify(value), line("event", "end")), last: true };
      const { reason } = cancellation.signal;
      return { text: reason instanceof Problem ? problemEvent(reason) : "", last: true };
    } catch (error) {
      if (error instanceof Problem) return { text: problemEvent(error), last: true };
      log.error("a stream failed unexpectedly", { request_id, reason: reasonOf(error) });
      return {
        text: problemEvent(new Problem("internal_error", "the service failed; quote the request id")),
        last: true,
      };
    }
  };

  return createReadableStream<Uint8Array>(
    {
      start(controller) {
        const drop = (reason: string) => {
          log.info("a stream was dropped", { request_id, reason });
          controller.error(new Error(`the stream was dropped: ${reason}`));
          end();
        };
        const beat = () => {
          // The client has not read the comment of the last heartbeat.
          missed = (controller.desiredSize ?? 0) < 0 ? missed + 1 : 0;
          if (missed >= mostMissedHeartbeats) return drop("its client read nothing for half a minute");
          if (missed === 0) controller.enqueue(encoder.encode(": still here\n\n"));
          stopTimer = systemTimer(heartbeat, beat);
        };
        stopTimer = systemTimer(heartbeat, beat);
        cancellation.signal.addEventListener("abort", () => {
          if (isEnded) return;
          stopTimer();
          // A client that does not read the last event must not delay the end.
          stopTimer = systemTimer("1s", () => drop("its client did not read the end"));
        });
        // Send a comment at once, so that the headers leave before the first entry.
        controller.enqueue(encoder.encode(": this is a stream\n\n"));
      },
      async pull(controller) {
        const { text, last } = await next();
        if (text) controller.enqueue(encoder.encode(text));
        if (!last) return;
        end();
        controller.close();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

const problemEvent = ({ code, message }: Problem) =>
  eventOf(JSON.stringify({ code, message }), line("event", "problem"));
