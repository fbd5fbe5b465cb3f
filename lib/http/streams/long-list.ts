import { systemTimer } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { type Log, reasonOf } from "../../kernel/log.ts";
import { yieldToEventLoop } from "../../kernel/node/event-loop.ts";
import { createReadableStream, TextEncoder } from "../../kernel/node/web.ts";
import type { Operation } from "../../kernel/operation.ts";
import type { LongList } from "../../kernel/page.ts";
import { type Answer, json, type Writer } from "../answer.ts";
import type { Cancellation } from "../limits/cancellation.ts";
import { longestPause_ms, type Throttle, whileWanted } from "../limits/fair-shares.ts";

/** The long lists of one kind that a user reads at once. The others wait, and hold no items yet. */
const atOnce = 4;
/** A batch is read in one go, so long items come in smaller batches. Few sizes, because each is a statement. */
const sizes = [128, 16, 4, 1] as const;
const batchLength = 256 * 1024;
/** A slow client takes a piece before `longestPause_ms` ends, and a long item is more than a piece. */
const pieceBytes = 64 * 1024;
const encoder = new TextEncoder();

/** The long lists of one kind that a user reads. */
interface Lane {
  running: number;
  readonly waiting: (() => void)[];
  /** Resolves when the next batch may be made: one at a time, each in a tick of its own. */
  free: Promise<void>;
}
const nameOf = ({ user_id }: Request, { id }: Operation) => `${user_id} ${id}`;

/** Makes a batch, after the one before. */
function inTurn<T>(lane: Lane, make: () => Promise<T>): Promise<T> {
  const made = lane.free.then(make);
  lane.free = made.then(yieldToEventLoop, yieldToEventLoop);
  return made;
}

interface Request {
  readonly request_id: string;
  readonly organization_id: string;
  readonly user_id: string;
  readonly writer: Writer;
  readonly log: Log;
  /** Cancels the request while it waits. */
  cancel(): Cancellation;
  /** Cuts the answer off. A shutdown does not, within its grace. */
  cut(): Cancellation;
}

export type LongLists = ReturnType<typeof createLongLists>;

/** The long lists that the users of one service read. */
export function createLongLists({ take, takeTurn, waitForTurn }: Throttle) {
  const lanes = new Map<string, Lane>();

  /**
   * Sends a list that may be long: at once if one batch has all of it, otherwise batch by batch as the client takes them,
   * in the turns of its organization. The connection is cut if the key stops being valid, or if the client reads nothing
   * for half a minute.
   */
  async function answer(list: LongList<unknown>, operation: Operation, request: Request): Promise<Answer> {
    const { request_id } = request;
    await waitForTurn(request.organization_id, request.cancel);
    // While others of its kind are long, this one is not even tried: reading a batch of each would take seconds. A long
    // list is read again from the start, because a list that waits must hold nothing.
    const name = nameOf(request, operation);
    const short = lanes.has(name) ? undefined : await shortAnswer(list, operation, request);
    if (short) return short;
    const { lane, leave } = await enter(name, request);
    try {
      await waitForTurn(request.organization_id, request.cancel);
      const body = inPieces(batchesOf(list, operation, request, lane), request, leave);
      return { status: 200, headers: json, body, request_id };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Undefined if the list is longer than a batch. */
  async function shortAnswer(
    { read, total }: LongList<unknown>,
    operation: Operation,
    { request_id, organization_id, writer }: Request,
  ): Promise<Answer | undefined> {
    const { items: data, end } = await read()();
    if (!end) {
      take(organization_id, data.length, 0);
      return undefined;
    }
    const answer = await writer.answer(operation, { data, ...end, total }, request_id);
    take(organization_id, 0, String(answer.body).length);
    return answer;
  }

  /** Resolves when one more long list may be read. `leave` is to be called at its end. */
  async function enter(name: string, request: Request): Promise<{ lane: Lane; leave: () => void }> {
    const lane = lanes.get(name) ?? { running: 0, waiting: [], free: Promise.resolve() };
    lanes.set(name, lane);
    const leave = () => {
      const next = lane.waiting.shift();
      if (next) return next();
      lane.running -= 1;
      if (lane.running === 0) lanes.delete(name);
    };
    if (lane.running < atOnce) lane.running += 1;
    else {
      const turn = new Promise<void>((resolve) => lane.waiting.push(resolve));
      await whileWanted(turn, request.cancel()).catch((error) => {
        void turn.then(leave);
        throw error;
      });
    }
    return { lane, leave };
  }

  async function* batchesOf(
    { read, total }: LongList<unknown>,
    { write }: Operation,
    { request_id, organization_id, writer }: Request,
    lane: Lane,
  ): AsyncGenerator<Uint8Array, void> {
    const next = read();
    let begin = '{"data":[';
    let comma = "";
    let size: number | undefined;
    for (let isLast = false; !isLast; begin = "") {
      await takeTurn(organization_id, 0);
      const bytes = await inTurn(lane, async () => {
        const { items, end } = await next(size);
        isLast = end !== undefined;
        // A batch is empty if its only row was deleted meanwhile.
        const data = items.length > 0 ? `${comma}${items.map(write).join()}` : "";
        if (data) comma = ",";
        const text = `${begin}${data}${end ? await writer.listEnd(end, total, request_id) : ""}`;
        take(organization_id, items.length, text.length);
        size = sizes.find((one) => one * text.length <= items.length * batchLength) ?? 1;
        return encoder.encode(text);
      });
      for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes);
    }
  }

  return { answer };
}

function inPieces(
  pieces: AsyncGenerator<Uint8Array, void>,
  { request_id, log, cut }: Request,
  leave: () => void,
): ReadableStream<Uint8Array> {
  const { signal, end } = cut();
  let stopTimer = () => {};
  let isEnded = false;
  const finish = () => {
    if (isEnded) return;
    isEnded = true;
    stopTimer();
    leave();
    end();
  };
  let drop = (_reason: string) => {};

  return createReadableStream<Uint8Array>(
    {
      start(controller) {
        drop = (reason) => {
          if (isEnded) return;
          finish();
          log.info("a list was not sent whole", { request_id, reason });
          controller.error(new Error(`the rest of the list is not sent: ${reason}`));
        };
        const abort = () => drop(signal.reason instanceof Problem ? signal.reason.message : "its client has left");
        signal.addEventListener("abort", abort);
      },
      async pull(controller) {
        stopTimer();
        try {
          const { value, done } = await pieces.next();
          if (isEnded) return;
          if (done) {
            finish();
            controller.close();
            return;
          }
          controller.enqueue(value);
          stopTimer = systemTimer(longestPause_ms, () => drop("its client read nothing for half a minute"));
        } catch (error) {
          drop(reasonOf(error));
        }
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
}
