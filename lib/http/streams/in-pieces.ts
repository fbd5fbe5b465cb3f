import type { ServerResponse } from "node:http";
import { systemTimer } from "../../kernel/clock.ts";
import { reasonOf } from "../../kernel/log.ts";
import { createReadableStream } from "../../kernel/node/web.ts";

/** How long a client may read nothing before it is cut off. */
export const maxPause_ms = 30_000;
/** Longer for a file or a push, because a proxy may buffer a part of it. */
const maxPauseOfFile = "2m";

interface Reading {
  readonly maxPause?: string | number;
  /** Called once, whether the body was read to its end or not. */
  ended(): void;
  /** Called if the rest is not sent. Returns the error for a reader in process. */
  dropped(reason: string): Error;
}

/** A body whose pieces are made when the client reads. A client that reads nothing for too long is dropped. */
export function inPieces(
  pieces: AsyncIterator<Uint8Array, unknown, undefined>,
  { maxPause = maxPause_ms, ended, dropped }: Reading,
) {
  let isEnded = false;
  let stopTimer = () => {};
  let fail = (_: Error) => {};
  const finish = () => {
    if (isEnded) return;
    isEnded = true;
    stopTimer();
    ended();
    void pieces.return?.().catch(() => {});
  };
  const drop = (reason: string) => {
    if (isEnded) return;
    finish();
    fail(dropped(reason));
  };
  const awaitReader = () => {
    stopTimer = systemTimer(maxPause, () => drop("its client read nothing for half a minute"));
  };
  const body = createReadableStream<Uint8Array>(
    {
      start(controller) {
        fail = (error) => controller.error(error);
        awaitReader();
      },
      async pull(controller) {
        stopTimer();
        try {
          const { value, done } = await pieces.next();
          if (isEnded) return;
          if (done) {
            finish();
            return controller.close();
          }
          controller.enqueue(value);
          awaitReader();
        } catch (error) {
          drop(reasonOf(error));
        }
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
  return { body, drop };
}

/** A body that keeps a file or a process open, so a client must read it. Calls in process may take their time. */
export const whileRead = (
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse | undefined,
): ReadableStream<Uint8Array> =>
  outgoing
    ? inPieces(body[Symbol.asyncIterator](), {
        maxPause: maxPauseOfFile,
        ended() {},
        dropped: (reason) => new Error(reason),
      }).body
    : body;
