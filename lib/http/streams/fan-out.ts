import { yieldToEventLoop } from "../../kernel/node/event-loop.ts";

/** How many receivers get a message before other work has its turn. */
const perTurn = 64;
/** The most messages that wait until all receivers have the earlier ones. */
const maxWaiting = 10_000;

/** Sends messages to receivers in order: to few at once, to many in turns, so that other work can run in between. */
export class FanOut<Receiver> {
  readonly receivers = new Set<Receiver>();
  readonly #onError: (error: unknown) => void;
  #waiting: ((to: Receiver) => void)[] = [];
  #isSending = false;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Returns false, and drops all waiting messages, if receivers are too far behind. The last one is always sent. */
  send(message: (to: Receiver) => void, isLast = false): boolean {
    const fits = isLast || this.#waiting.length < maxWaiting;
    if (fits) this.#waiting.push(message);
    else this.#waiting = [];
    if (!this.#isSending) void this.#sendAll();
    return fits;
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    let count = 0;
    for (let send = this.#waiting.shift(); send; send = this.#waiting.shift()) {
      for (const one of [...this.receivers]) {
        if (count > 0 && count % perTurn === 0) await yieldToEventLoop();
        count += 1;
        if (!this.receivers.has(one)) continue;
        try {
          send(one);
        } catch (error) {
          this.#onError(error);
        }
      }
    }
    this.#isSending = false;
  }
}
