import type { WebSocket } from "ws";
import { systemTimer } from "../../kernel/clock.ts";

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
export const maxUnsent = 1024 * 1024;

/** A WebSocket that gets messages. */
export class Subscriber {
  readonly socket: WebSocket;
  /** Whether a pong came since the last ping. */
  isAlive = true;
  #isClosing = false;

  constructor(socket: WebSocket) {
    this.socket = socket;
  }

  send(text: string): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    this.socket.send(text);
    if (this.socket.bufferedAmount > maxUnsent) this.closeSlow();
  }

  closeSlow(): void {
    this.close(codes.slow, "the client reads too slowly");
  }

  /** Closes the connection. Cuts it after a second if the client has not closed its end. */
  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    if (this.socket.readyState === this.socket.OPEN) this.socket.close(code, reason);
    const cancel = systemTimer("1s", () => this.socket.terminate());
    this.socket.once("close", cancel);
  }
}
