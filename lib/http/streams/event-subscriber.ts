import type { WebSocket } from "ws";
import type { Change } from "../../features/events/change-feed.ts";
import { stateChanges } from "../../features/events/schema.ts";
import { systemTimer } from "../../kernel/clock.ts";

/** A message of a stream, as sent. Only events have an id, after which a stream can resume. */
export interface Message {
  readonly id?: string;
  readonly event: string;
  readonly timestamp: string;
  readonly data: object;
}

/** The message for a change; undefined if callers must not see it. */
export function messageOf(change: Change): Message | undefined {
  switch (change.kind) {
    case "event": {
      const { id, event, timestamp, data } = change;
      return { id, event, timestamp, data };
    }
    case "deployment":
    case "generation": {
      const { kind, id, status, at, progress } = change;
      const data = { [`${kind}_id`]: id, status, ...(progress !== undefined && { progress }) };
      return { event: stateChanges[kind], timestamp: at, data };
    }
    default:
      return undefined;
  }
}

/** Close codes of a WebSocket. Above 4000, the last three digits are the HTTP status that a request would get. */
export const codes = {
  leaving: 1001,
  failed: 1011,
  slow: 1013,
  unauthorized: 4401,
  forbidden: 4403,
  unknown: 4404,
  tooFar: 4410,
  limited: 4429,
};

/** The most characters or bytes that are buffered for one subscriber. */
const maxUnsent = 1024 * 1024;

/** One WebSocket. New messages wait while older events are replayed. No event is sent twice. */
export class Subscriber {
  readonly socket: WebSocket;
  readonly #wanted: ReadonlySet<string>;
  #waiting: [Message, string][] | undefined;
  #unsent = 0;
  /** The id of the newest replayed event. If another process announced it, this process may publish it again later. */
  #replayed = "";
  /** Whether a pong came since the last ping. */
  isAlive = true;

  constructor(socket: WebSocket, events: string | undefined) {
    this.socket = socket;
    this.#wanted = new Set(events?.split(",") ?? ["*"]);
  }

  /** Buffers new messages until `resume`. */
  hold(): void {
    this.#waiting = [];
  }

  /** Sends the buffered messages, except for events up to `last`, which were replayed. */
  resume(last: string): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#replayed = last;
    for (const [message, text] of waiting) this.publish(message, text);
  }

  /** Sends a new message, or buffers it. */
  publish(message: Message, text: string): void {
    if (!this.#waiting) {
      if (message.id === undefined || message.id > this.#replayed) this.send(message, text);
      return;
    }
    this.#waiting.push([message, text]);
    this.#unsent += text.length;
    if (this.#unsent > maxUnsent) this.close(codes.slow, "the client reads too slowly");
  }

  /** Sends a message if the subscriber wants it. */
  send(message: Message, text: string): void {
    const isWanted = this.#wanted.has("*") || this.#wanted.has(message.event);
    if (!isWanted || this.socket.readyState !== this.socket.OPEN) return;
    this.socket.send(text);
    if (this.socket.bufferedAmount > maxUnsent) this.close(codes.slow, "the client reads too slowly");
  }

  #isClosing = false;

  /** Closes the connection. Cuts it after a second if the client has not closed its end. */
  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    if (this.socket.readyState === this.socket.OPEN) this.socket.close(code, reason);
    const cancel = systemTimer("1s", () => this.socket.terminate());
    this.socket.once("close", cancel);
  }
}
