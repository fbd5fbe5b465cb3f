import { Problem } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { TextEncoder } from "../../kernel/node/web.ts";
import type { Operation } from "../../kernel/operation.ts";
import type { LongList } from "../../kernel/page.ts";
import { type Answer, json, type Writer } from "../answer.ts";
import type { Cancellation } from "../limits/cancellation.ts";
import { type FairShares, whileWanted } from "../limits/fair-shares.ts";
import { inPieces } from "./in-pieces.ts";

/** How many long lists of one kind a user reads at once. The others wait, and hold no items yet. */
const atOnce = 4;
/** The items of a batch: fewer if they are long, because a batch is read as a whole. Each size is a statement. */
const sizes = [128, 16, 4, 1] as const;
const batchLength = 256 * 1024;
/** Small, so that a slow client takes a piece in time. */
const pieceBytes = 64 * 1024;
const encoder = new TextEncoder();

interface Request {
  readonly request_id: string;
  readonly organization_id: string;
  readonly user_id: string;
  readonly writer: Writer;
  readonly log: Log;
  /** Cancels the request while it waits. */
  cancel(): Cancellation;
  /** Cuts the answer off. A shutdown does not before the end of its grace period. */
  cut(): Cancellation;
}

export type LongLists = ReturnType<typeof createLongLists>;

/** The long lists that the users of one service read. */
export function createLongLists({ charge, inTurn, waitForTurn }: FairShares) {
  /** For each user and kind, how many run and which wait. */
  const lanes = new Map<string, { running: number; readonly waiting: (() => void)[] }>();

  /**
   * Sends a list that may be long: at once if one batch has all of it, otherwise batch by batch as the client takes
   * them, in the turns of its organization. The connection is cut if the key stops being valid, or if the client reads
   * nothing for half a minute.
   */
  async function answer(list: LongList<unknown>, operation: Operation, request: Request): Promise<Answer> {
    const { request_id, organization_id, user_id } = request;
    await waitForTurn(organization_id, request.cancel);
    // While long lists of this kind are read, this one waits and reads no first batch, because many of those would take
    // seconds. A waiting list holds nothing, so a long one is then read from its start.
    const name = `${user_id} ${operation.id}`;
    const short = lanes.has(name) ? undefined : await shortAnswer(list, operation, request);
    if (short) return short;
    const leave = await enter(name, request);
    try {
      await waitForTurn(organization_id, request.cancel);
      return {
        status: 200,
        headers: json,
        body: bodyOf(batchesOf(list, operation, request), request, leave),
        request_id,
      };
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
      charge(organization_id, data.length, 0);
      return undefined;
    }
    const answer = await writer.answer(operation, { data, ...end, total }, request_id);
    charge(organization_id, 0, String(answer.body).length);
    return answer;
  }

  /** Resolves when one more long list may be read, with a function to call at its end. */
  async function enter(name: string, request: Request): Promise<() => void> {
    const lane = lanes.get(name) ?? { running: 0, waiting: [] };
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
    return leave;
  }

  async function* batchesOf(
    { read, total }: LongList<unknown>,
    { write }: Operation,
    { request_id, organization_id, writer }: Request,
  ): AsyncGenerator<Uint8Array, void> {
    const next = read();
    let begin = '{"data":[';
    let comma = "";
    let size: number | undefined;
    for (let isLast = false; !isLast; begin = "") {
      const bytes = await inTurn(organization_id, async () => {
        const { items, end } = await next(size);
        isLast = end !== undefined;
        // A batch is empty if its only row has just been deleted.
        const data = items.length > 0 ? `${comma}${items.map(write).join()}` : "";
        if (data) comma = ",";
        const text = `${begin}${data}${end ? await writer.listEnd(end, total, request_id) : ""}`;
        charge(organization_id, items.length, text.length);
        size = sizes.find((one) => one * text.length <= items.length * batchLength) ?? 1;
        return encoder.encode(text);
      });
      for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes);
    }
  }

  return { answer };
}

function bodyOf(
  pieces: AsyncGenerator<Uint8Array, void>,
  { request_id, log, cut }: Request,
  leave: () => void,
): ReadableStream<Uint8Array> {
  const { signal, end } = cut();
  const { body, drop } = inPieces(pieces, {
    ended() {
      leave();
      end();
    },
    dropped(reason) {
      log.info("a list was not sent whole", { request_id, reason });
      return new Error(`the rest of the list is not sent: ${reason}`);
    },
  });
  signal.addEventListener("abort", () =>
    drop(signal.reason instanceof Problem ? signal.reason.message : "its client has left"),
  );
  return body;
}
