import { systemTimer } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import { yieldToEventLoop } from "../kernel/event-loop.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Operation } from "../kernel/operation.ts";
import type { Batch, LongList } from "../kernel/page.ts";
import { ReadableStream, TextEncoder } from "../kernel/web.ts";
import { type Answer, json, type Writer } from "./answer.ts";
import type { Cancellation } from "./cancellation.ts";
import { take, takeTurn } from "./stream-turns.ts";

/** The long lists that an organization reads at the same time. The others wait, and hold no items yet. */
const atOnce = 4;
/** A batch is read in one go, so long items come in smaller batches. Few sizes, because each is a statement. */
const sizes = [128, 16, 4, 1] as const;
const batchLength = 256 * 1024;
const longestPause = "30s";

interface Lane {
  running: number;
  readonly waiting: (() => void)[];
}
const lanes = new Map<string, Lane>();

interface Request {
  readonly request_id: string;
  readonly organization_id: string;
  readonly writer: Writer;
  readonly log: Log;
  cancel(): Cancellation;
}

/**
 * Sends a list that may be long: at once if one batch has all of it, otherwise batch by batch as the client takes them,
 * in the turns of its organization. The connection is cut if the key stops being valid, if the service shuts down, or
 * if the client reads nothing for half a minute.
 */
export async function longListAnswer(list: LongList<unknown>, operation: Operation, request: Request): Promise<Answer> {
  const { request_id, organization_id, writer } = request;
  const leave = await enter(request);
  try {
    const turn = takeTurn(organization_id, 0);
    if (turn !== undefined) await stillWanted(request, turn);
    const { value: first } = (await list.batches.next()) as { value: Batch<unknown> };
    const { items: data, end } = first;
    if (!end) {
      const body = inBatches(textsOf(list, first, operation, request), request, leave);
      return { status: 200, headers: json, body, request_id };
    }
    const answer = await writer.answer(operation, { data, ...end, total: list.total }, request_id);
    take(organization_id, 0, String(answer.body).length);
    leave();
    return answer;
  } catch (error) {
    leave();
    throw error;
  }
}

/** Resolves when the organization may read one more long list. Returns the function to call at its end. */
async function enter(request: Request): Promise<() => void> {
  const { organization_id } = request;
  const lane = lanes.get(organization_id) ?? { running: 0, waiting: [] };
  lanes.set(organization_id, lane);
  const leave = () => {
    const next = lane.waiting.shift();
    if (next) return next();
    lane.running -= 1;
    if (lane.running === 0) lanes.delete(organization_id);
  };
  if (lane.running < atOnce) lane.running += 1;
  else {
    const turn = new Promise<void>((resolve) => lane.waiting.push(resolve));
    await stillWanted(request, turn).catch((error) => {
      leave();
      throw error;
    });
  }
  return leave;
}

/** Waits, and throws if nobody wants the answer any more. */
async function stillWanted({ cancel }: Request, turn: Promise<void>): Promise<void> {
  const { signal } = cancel();
  await turn;
  if (!signal.aborted) return;
  throw signal.reason instanceof Problem ? signal.reason : new Problem("unavailable", "the client has left");
}

async function* textsOf(
  { batches, total }: LongList<unknown>,
  first: Batch<unknown>,
  { write }: Operation,
  { request_id, organization_id, writer }: Request,
): AsyncGenerator<string, void> {
  let before = '{"data":[';
  for (let batch = first; ; before = ",") {
    const { items, end } = batch;
    const text = `${before}${items.map(write).join()}${end ? await writer.listEnd(end, total, request_id) : ""}`;
    take(organization_id, items.length, text.length);
    yield text;
    if (end) return;
    await (takeTurn(organization_id, 0) ?? yieldToEventLoop());
    const size = sizes.find((one) => one * text.length <= items.length * batchLength) ?? 1;
    const next = await batches.next(size);
    if (next.done) throw new Error("a long list ends with its last batch");
    batch = next.value;
  }
}

function inBatches(
  texts: AsyncGenerator<string, void>,
  { request_id, log, cancel }: Request,
  leave: () => void,
): ReadableStream<Uint8Array> {
  const { signal, end } = cancel();
  const encoder = new TextEncoder();
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

  return new ReadableStream<Uint8Array>(
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
          const { value, done } = await texts.next();
          if (isEnded) return;
          if (done) {
            finish();
            controller.close();
            return;
          }
          controller.enqueue(encoder.encode(value));
          stopTimer = systemTimer(longestPause, () => drop("its client read nothing for half a minute"));
        } catch (error) {
          drop(reasonOf(error));
        }
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
}
