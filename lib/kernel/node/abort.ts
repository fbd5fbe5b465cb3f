import { createReadableStream } from "./web.ts";

/** Rejects with the signal's reason as soon as it aborts, as `fetch` does. Work that has begun goes on. */
export async function untilAborted<T>(signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
  if (!signal) return run();
  signal.throwIfAborted();
  let leave = () => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason);
  });
  signal.addEventListener("abort", leave);
  try {
    return await Promise.race([run(), aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** A body whose reader gets the signal's reason as soon as it aborts. */
export function streamUntilAborted(body: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let leave = () => {};
  return createReadableStream<Uint8Array>(
    {
      start(controller) {
        leave = () => {
          controller.error(signal.reason);
          void reader.cancel(signal.reason).catch(() => {});
        };
        signal.addEventListener("abort", leave, { once: true });
      },
      async pull(controller) {
        const { value, done } = await reader.read().catch((error) => {
          signal.removeEventListener("abort", leave);
          throw error;
        });
        if (signal.aborted) return;
        if (!done) return controller.enqueue(value);
        signal.removeEventListener("abort", leave);
        controller.close();
      },
      cancel(reason) {
        signal.removeEventListener("abort", leave);
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
