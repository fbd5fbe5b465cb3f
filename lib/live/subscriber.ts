import type { WebSocket } from "ws";
import type { Change } from "../events/change-feed.ts";
import { stateChanges } from "../events/schema.ts";
import { systemTimer } from "../kernel/clock.ts";

/** What a stream tells, as it is sent. Only events have an id, after which a stream can go on. */
export interface Message {
  readonly id?: string;
  readonly event: string;
  readonly timestamp: string;
  readonly data: object;
}

/** What of a change is told; undefined for what is no caller's business. */
export function messageOf(change: Change): Message | undefined {
  switch (change.kind) {
    case "event": {
      const { id, event, timestamp, data } = change;
      return { id, event, timestamp, data };
    }
    case "deployment":
    case "generation": {
      const { kind, id, status, at } = change;
      return { event: stateChanges[kind], timestamp: at, data: { [`${kind}_id`]: id, status } };
    }
    default:
      return undefined;
  }
}

/** Why a stream is closed, as its codes: the last three digits are those of the answer that a request would get. */
export const codes = {
  leaving: 1001,
  failed: 1011,
  slow: 1013,
  unauthorized: 4401,
  forbidden: 4403,
  tooFar: 4410,
  limited: 4429,
};

/** What may lie unsent for one reader. */
const mostUnsent = 1024 * 1024;

/** One reader. What happens while the past is told waits for its turn, and nothing is told twice. */
export class Stream {
  readonly socket: WebSocket;
  readonly #wanted: ReadonlySet<string>;
  #waiting: [Message, string][] | undefined;
  #unsent = 0;
  /** Whether anything came since the last ping. */
  lives = true;

  constructor(socket: WebSocket, events: string | undefined) {
    this.socket = socket;
    this.#wanted = new Set(events?.split(",") ?? ["*"]);
  }

  /** Keeps back what happens until `goOn`. */
  hold(): void {
    this.#waiting = [];
  }

  /** Tells what was kept back, but for what was told meanwhile. */
  goOn(last: string): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const [message, text] of waiting) if (message.id === undefined || message.id > last) this.tell(message, text);
  }

  /** What just happened. */
  tell(message: Message, text: string): void {
    if (!this.#waiting) {
      this.send(message, text);
      return;
    }
    this.#waiting.push([message, text]);
    this.#unsent += text.length;
    if (this.#unsent > mostUnsent) this.close(codes.slow, "it reads too slowly");
  }

  /** Sends it where it is wanted. */
  send(message: Message, text: string): void {
    const isWanted = this.#wanted.has("*") || this.#wanted.has(message.event);
    if (!isWanted || this.socket.readyState !== this.socket.OPEN) return;
    this.socket.send(text);
    if (this.socket.bufferedAmount > mostUnsent) this.close(codes.slow, "it reads too slowly");
  }

  /** Says why, and cuts the connection where the other side has not closed it within a second. */
  close(code: number, reason: string): void {
    if (this.socket.readyState === this.socket.OPEN) this.socket.close(code, reason);
    const calm = systemTimer("1s", () => this.socket.terminate());
    this.socket.once("close", calm);
  }
}
