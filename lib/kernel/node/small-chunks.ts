import type { IncomingMessage } from "node:http";
import { systemTimer } from "../clock.ts";
import { yieldToEventLoop } from "./event-loop.ts";

/** A chunk of fewer bytes is small. */
const small = 512;
/** The first small chunks of a message pass at once: most messages have no more. */
const maxPassed = 64;
/** Up to this many of a tick are passed on at its end. With more, messages take turns. */
const few = 100;
/** The pause of a turn for each of its chunks: these messages then take a sixth of the process's time. */
const pause_ms = 0.01;

/** This many waiting chunks are joined into one, because each is an object. */
const maxKept = 256;

/** Passes on the small chunks of a message, and returns their number. */
type Flush = () => number;
/** A client is one address. A server is one address and port, because apps share an address. */
const peerOf = ({ socket, statusCode }: IncomingMessage) =>
  `${socket.remoteAddress} ${statusCode ? socket.remotePort : ""}`;

export type JoinSmallChunks = ReturnType<typeof createChunkJoiner>;

/** Joins the small chunks of a body, which would block the event loop one by one. Call it before the first chunk. */
export function createChunkJoiner() {
  const waiting = new Map<string, Set<Flush>>();
  let isFlushing = false;

  function wait(peer: string, flush: Flush): void {
    const those = waiting.get(peer) ?? new Set();
    waiting.set(peer, those.add(flush));
    if (!isFlushing) void flushInTurns();
  }

  async function flushInTurns(): Promise<void> {
    isFlushing = true;
    // A peer with more messages goes to the back of the queue.
    for (const [peer, those] of waiting) {
      const [flush] = those;
      waiting.delete(peer);
      if (flush) those.delete(flush);
      if (those.size > 0) waiting.set(peer, those);
      const pause = (flush?.() ?? 0) * pause_ms;
      if (pause > 0) await new Promise<void>((resolve) => systemTimer(pause, resolve));
    }
    isFlushing = false;
  }

  return function joinSmallChunks(message: IncomingMessage): void {
    if (message.headers["transfer-encoding"] === undefined) return;
    const push = message.push.bind(message);
    let passed = 0;
    let held: Buffer[] = [];
    let count = 0;
    let isEnded = false;
    const join = () => {
      held = [Buffer.concat(held)];
    };
    const flush: Flush = () => {
      const flushed = count;
      const joined = Buffer.concat(held);
      [held, count] = [[], 0];
      if (message.destroyed) return 0;
      try {
        push(joined);
        if (isEnded) push(null);
      } catch (error) {
        // It must not stop the other messages.
        message.destroy(error as Error);
      }
      return flushed;
    };
    // If the client disconnects, its chunks are dropped.
    message.once("close", () => {
      [held, count] = [[], 0];
    });
    const flushSoon = async () => {
      await yieldToEventLoop();
      if (count > few) wait(peerOf(message), flush);
      else flush();
    };
    message.push = (chunk: Buffer | null) => {
      if (count === 0 && (!chunk || chunk.length >= small || ++passed <= maxPassed)) return push(chunk);
      if (chunk) {
        held.push(chunk);
        count += 1;
        if (count === 1) void flushSoon();
        if (held.length === maxKept) join();
      } else isEnded = true;
      // Node stops reading, until `push` asks for more.
      return false;
    };
  };
}
