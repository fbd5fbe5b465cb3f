import type { IncomingMessage } from "node:http";
import { yieldToEventLoop } from "./event-loop.ts";

/** In bytes. */
const small = 512;
/** The first ones pass at once: most messages have no more. */
const mostPassed = 64;
/** The small chunks of all messages that are passed on in one tick. Their callbacks take about 2 ms. */
const mostPerTick = 2_000;

/** Passes on the small chunks of one message, and returns their number. */
type Flush = () => number;
const waiting: Flush[] = [];

async function flushInTurns(): Promise<void> {
  while (waiting.length > 0) {
    await yieldToEventLoop();
    for (let passed = 0; passed < mostPerTick && waiting.length > 0; ) passed += waiting.shift()?.() ?? 0;
  }
}

/**
 * Joins the small chunks of a chunked body, and reads its connection once per tick. Call it before the first chunk.
 * Node calls back for each chunk, and reads on while they are taken: a body of 1 MB in chunks of one byte took the
 * event loop 3 s, up to 150 ms at a time. Now it takes 1.7 s, 6 ms at a time.
 */
export function joinSmallChunks(message: IncomingMessage): void {
  if (message.headers["transfer-encoding"] === undefined) return;
  const push = message.push.bind(message);
  let passed = 0;
  let held: Buffer[] = [];
  const flush: Flush = () => {
    const { length } = held;
    const joined = Buffer.concat(held);
    held = [];
    if (length > 0 && !message.destroyed) push(joined);
    return length;
  };
  message.push = (chunk: Buffer | null) => {
    if (chunk === null) {
      flush();
      return push(null);
    }
    if (held.length === 0 && (chunk.length >= small || ++passed <= mostPassed)) return push(chunk);
    held.push(chunk);
    if (held.length === 1 && waiting.push(flush) === 1) void flushInTurns();
    // Node stops reading, until `push` asks for more.
    return false;
  };
}
