import type { ServerResponse } from "node:http";
import { systemTimer } from "../../kernel/clock.ts";
import { createReadableStream } from "../../kernel/node/web.ts";

/** A part of the stream may wait in buffers of a proxy, so a slow client needs longer than for a list. */
const longestPause = "2m";

/**
 * Drops a client that reads nothing of a stream for two minutes. The stream holds a file or a process meanwhile. Calls
 * in process have no `outgoing`, and may take their time.
 */
export function whileRead(
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse | undefined,
): ReadableStream<Uint8Array> {
  if (!outgoing) return body;
  const reader = body.getReader();
  let stopTimer = () => {};
  return createReadableStream(
    {
      async pull(controller) {
        stopTimer();
        const { value, done } = await reader.read();
        if (done) return controller.close();
        controller.enqueue(value);
        stopTimer = systemTimer(longestPause, () => {
          outgoing.destroy();
          void reader.cancel().catch(() => {});
        });
      },
      cancel(reason) {
        stopTimer();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
