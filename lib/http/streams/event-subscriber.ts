import type { WebSocket } from "ws";
import type { Change } from "../../features/events/change-feed.ts";
import { stateChanges } from "../../features/events/schema.ts";
import { maxUnsent, Subscriber } from "./subscriber.ts";

/** A message of a stream, as sent. Only events have an id, after which a stream can resume. */
interface Message {
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

/** A subscriber to events. New messages wait while older events are replayed. No event is sent twice. */
export class EventSubscriber extends Subscriber {
  readonly #wanted: ReadonlySet<string>;
  #waiting: [Message, string][] | undefined;
  #unsent = 0;
  /** The id of the newest replayed event. If another process announced it, this process may publish it only later. */
  #replayed = "";

  constructor(socket: WebSocket, events: string | undefined) {
    super(socket);
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
      if (message.id === undefined || message.id > this.#replayed) this.sendIfWanted(message, text);
      return;
    }
    this.#waiting.push([message, text]);
    this.#unsent += text.length;
    if (this.#unsent > maxUnsent) this.closeSlow();
  }

  sendIfWanted(message: Message, text: string): void {
    if (this.#wanted.has("*") || this.#wanted.has(message.event)) this.send(text);
  }
}
