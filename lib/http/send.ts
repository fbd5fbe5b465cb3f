import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { arrayBuffer } from "node:stream/consumers";
import { isStream } from "../kernel/node/web.ts";
import { type Answer, longLengthOf } from "./answer.ts";
import type { Outcome } from "./handler.ts";
import type { RequestContext } from "./request-context.ts";
import { phraseOf } from "./server.ts";
import { maxPause_ms } from "./streams/in-pieces.ts";

/** The body for a method. A HEAD has none, so this cancels a stream. */
export function shownBody({ answer: { body } }: Outcome, method: string): Answer["body"] {
  if (method !== "HEAD") return body;
  if (isStream(body)) void body.cancel();
  return null;
}

/**
 * Writes an answer to its socket. Returns false for a stream and for a call in process, which need a web Response.
 * Answers to reads are sent together once per tick through `leave`, because waking a client costs the system as much as
 * the rest of an answer: a GET then takes 0.56 of the processor time. Answers to writes are sent together anyway, after
 * their commit.
 */
export function writeAnswer(outcome: Outcome, request: RequestContext, leave: (run: () => void) => void): boolean {
  const { method, outgoing } = request;
  if (!outgoing) return false;
  const shown = shownBody(outcome, method);
  if (isStream(shown)) return false;
  outgoing.writeHead(outcome.answer.status, headersOf(outcome, method));
  if (longLengthOf(outcome.answer) > 0) dropIfUnread(outgoing);
  const end = () => void outgoing.end(shown ?? undefined);
  if (method === "GET" || method === "HEAD") leave(end);
  else end();
  return true;
}

/** Drops a client that reads nothing of a long text. The socket's timer starts anew whenever a part was sent. */
function dropIfUnread(outgoing: ServerResponse): void {
  outgoing.setTimeout(maxPause_ms, () => outgoing.destroy());
  // Prepended, because Node's own listener then sets the timeout for the next request.
  outgoing.prependOnceListener("finish", () => outgoing.setTimeout(0));
}

/** All headers of an answer, as alternating names and values. */
export function headersOf(outcome: Outcome, method: string): string[] {
  const { status, headers, body } = outcome.answer;
  const all = stamped(outcome);
  const isOpen = isStream(body) || headers["content-length"] !== undefined;
  const isEmpty = body === null && (method === "HEAD" || status === 204 || status === 304);
  if (!isOpen && !isEmpty) all.push("content-length", body === null ? "0" : String(Buffer.byteLength(body)));
  return all;
}

/** The headers of an answer, with the request id and the rate-limit window. */
export function stamped({ answer, window }: Outcome): string[] {
  const all = ["x-request-id", answer.request_id];
  if (window) {
    const { limit, remaining, reset_at } = window;
    all.push("x-ratelimit-limit", String(limit), "x-ratelimit-remaining", String(remaining));
    all.push("x-ratelimit-reset", String(reset_at));
  }
  for (const name in answer.headers) all.push(name, answer.headers[name] ?? "");
  return all;
}

/** Makes pairs of alternating names and values. */
export const pairsOf = (headers: readonly string[]) =>
  headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? ""] as const] : []));

/** Reads the stream of an answer to its end. Rejects if the stream breaks off. */
export async function whole(answer: Answer, body: ReadableStream<Uint8Array>): Promise<Answer> {
  return { ...answer, body: new Uint8Array(await arrayBuffer(body)) };
}

/** Refuses an upgrade. Writes the response by hand, because Node provides no response for an upgrade. */
export function refuseUpgrade(socket: Duplex, outcome: Outcome, method: string): void {
  const { status, body } = outcome.answer;
  const headers = new Map([...pairsOf(headersOf(outcome, method)), ["connection", "close"]]);
  const lines = Array.from(headers, ([name, value]) => `${name}: ${value}\r\n`);
  const text = typeof body === "string" ? body : "";
  // The client may never close its end.
  const close = () => void socket.destroy();
  socket.end(`HTTP/1.1 ${status} ${phraseOf(status)}\r\n${lines.join("")}\r\n${text}`, close);
}
