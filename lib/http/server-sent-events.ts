import { systemTimer } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Stream } from "../kernel/stream.ts";
import type { Cancellation } from "./cancellation.ts";

/** Of Server-Sent Events. A proxy must neither keep them back nor keep them. */
export const eventHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
} as const;

/** How often a comment tells that the connection lives; proxies give up a silent one after half a minute or more. */
const beat = "15s";
/** A reader who has taken nothing for this many beats is let go. */
const patience = 2;

const line = (name: string, value: string) => `${name}: ${value}\n`;
const written = (data: unknown, fields: string) => `${fields}${line("data", JSON.stringify(data))}\n`;

/**
 * A stream as Server-Sent Events: each entry with its id, then `end`; or `problem`, in the form of an error, where it has
 * to stop. The next entry is asked for when the last one was taken, so a slow reader costs no memory, and one that takes
 * nothing for half a minute is let go.
 */
export function eventStream(
  { entries }: Stream,
  shape: (record: unknown) => unknown,
  leaving: Cancellation,
  log: Log,
  request_id: string,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let silent = 0;
  let finished = false;
  let stopTimer = () => {};
  const over = () => {
    finished = true;
    stopTimer();
    leaving.over();
    entries
      .return(undefined)
      .catch((error) => log.error("a stream ended badly", { request_id, reason: reasonOf(error) }));
  };

  const step = async (): Promise<{ text: string; last: boolean }> => {
    try {
      const { value, done } = await entries.next();
      if (!done) return { text: written(shape(value.record), line("id", value.id)), last: false };
      if (value) return { text: written(value, line("event", "end")), last: true };
      const { reason } = leaving.signal;
      return { text: reason instanceof Problem ? told(reason) : "", last: true };
    } catch (error) {
      if (error instanceof Problem) return { text: told(error), last: true };
      log.error("a stream failed unexpectedly", { request_id, reason: reasonOf(error) });
      return { text: told(new Problem("internal_error", "the service failed; quote the request id")), last: true };
    }
  };

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const drop = (reason: string) => {
          log.info("a stream was dropped", { request_id, reason });
          controller.error(new Error(`the stream was dropped: ${reason}`));
          over();
        };
        const tick = () => {
          // What was told at the last beat still lies there: nobody reads.
          silent = (controller.desiredSize ?? 0) < 0 ? silent + 1 : 0;
          if (silent >= patience) return drop("its reader took nothing for half a minute");
          if (silent === 0) controller.enqueue(encoder.encode(": still here\n\n"));
          stopTimer = systemTimer(beat, tick);
        };
        stopTimer = systemTimer(beat, tick);
        leaving.signal.addEventListener("abort", () => {
          if (finished) return;
          stopTimer();
          // A reader who does not take the last word must not hold up the end.
          stopTimer = systemTimer("1s", () => drop("its reader did not take the end"));
        });
        // Something is said at once, so that the headers arrive before the first entry does.
        controller.enqueue(encoder.encode(": this is a stream\n\n"));
      },
      async pull(controller) {
        const { text, last } = await step();
        if (text) controller.enqueue(encoder.encode(text));
        if (!last) return;
        over();
        controller.close();
      },
      cancel: over,
    },
    { highWaterMark: 0 },
  );
}

const told = ({ code, message }: Problem) => written({ code, message }, line("event", "problem"));
