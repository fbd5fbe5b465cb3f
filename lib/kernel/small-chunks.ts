import type { IncomingMessage } from "node:http";
import { systemTimer } from "./clock.ts";
import { yieldToEventLoop } from "./event-loop.ts";

/** In bytes. */
const small = 512;
/** The first ones pass at once: most messages have no more. */
const mostPassed = 64;
/** So many in one tick are passed on at its end. */
const few = 100;
/**
 * Beyond that, messages take turns. Node needs up to 2 µs for each chunk, and reads a connection 64 KiB at a time: up to
 * 11,000 chunks. With this pause for each, they take a sixth of the process's time.
 */
const pause_ms = 0.01;

/** Passes on the small chunks of a message, and returns their number. */
type Flush = () => number;
const waiting: Flush[] = [];

async function flushInTurns(): Promise<void> {
  for (let flush = waiting[0]; flush; flush = waiting[0]) {
    const pause = flush() * pause_ms;
    await new Promise<void>((resolve) => systemTimer(pause, resolve));
    waiting.shift();
  }
}

/**
 * Joins the small chunks of a chunked body, and reads its connection in turn. Call it before the first chunk. Node calls
 * back for each chunk, and reads on while they are taken: a body of 1 MB in chunks of one byte took the event loop 3 s,
 * up to 150 ms at a time.
 */
export function joinSmallChunks(message: IncomingMessage): void {
  if (message.headers["transfer-encoding"] === undefined) return;
  const push = message.push.bind(message);
  let passed = 0;
  let held: Buffer[] = [];
  let isEnded = false;
  const flush: Flush = () => {
    const { length } = held;
    const joined = Buffer.concat(held);
    held = [];
    if (message.destroyed) return length;
    push(joined);
    if (isEnded) push(null);
    return length;
  };
  const flushSoon = async () => {
    await yieldToEventLoop();
    if (held.length <= few) flush();
    else if (waiting.push(flush) === 1) await flushInTurns();
  };
  message.push = (chunk: Buffer | null) => {
    if (held.length === 0 && (!chunk || chunk.length >= small || ++passed <= mostPassed)) return push(chunk);
    if (chunk) held.push(chunk);
    else isEnded = true;
    if (held.length === 1 && chunk) void flushSoon();
    // Node stops reading, until `push` asks for more.
    return false;
  };
}
