import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { FastResponse } from "srvx";
import type { Answer } from "./answer.ts";
import type { Window } from "./rate-limit.ts";
import type { RequestContext } from "./request-context.ts";
import { phraseOf } from "./server.ts";

/** Stands for an answer that goes to its socket by itself. */
export const written: Response = new FastResponse(null);

/**
 * All headers in one go; what is whole is written to its socket without a detour over a Response.
 *
 * What was read in one turn leaves together by `leave`: to wake whoever waits for it takes the system as long as all else
 * that is done for an answer, and one who is awake already reads the others with the first. What was written leaves
 * together anyhow, after its commit.
 */
export function send(answer: Answer, exchange: RequestContext, leave: (run: () => void) => void): Response {
  const { status, body } = answer;
  const { method, fault, reply } = exchange;
  const shown = method === "HEAD" ? null : body;
  if (shown === null && body instanceof ReadableStream) void body.cancel();
  const headers = headersOf(answer, exchange);
  if (!reply || fault || shown instanceof ReadableStream) {
    const all = { ...Object.fromEntries(pairsOf(headers)), ...fault?.headers };
    return new FastResponse(shown, { status, statusText: phraseOf(status), headers: all });
  }
  reply.writeHead(status, headers);
  if (method === "GET" || method === "HEAD") leave(() => end(reply, shown));
  else end(reply, shown);
  return written;
}

function end(reply: ServerResponse, body: string | Uint8Array | null): void {
  // Node copies what is ASCII faster where it is told so.
  if (typeof body === "string" && Buffer.byteLength(body) === body.length) reply.end(body, "latin1");
  else reply.end(body ?? undefined);
}

/** Names and values in turns, as Node takes them. To put objects together would cost more than the rest of the answer. */
function headersOf({ status, headers, body, request_id }: Answer, { method, window }: RequestContext): string[] {
  const all = stamp(request_id, window);
  for (const name in headers) all.push(name, headers[name] ?? "");
  const isOpen = body instanceof ReadableStream || headers["content-length"] !== undefined;
  const isEmpty = body === null && (method === "HEAD" || status === 204 || status === 304);
  if (!isOpen && !isEmpty) all.push("content-length", body === null ? "0" : String(Buffer.byteLength(body)));
  return all;
}

export const pairsOf = (headers: readonly string[]) =>
  headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? ""] as const] : []));

/** What every answer under the interface carries: the request's id, and the window that it was counted in. */
export function stamp(request_id: string, window: Window | undefined): string[] {
  const all = ["x-request-id", request_id];
  if (window) {
    const { limit, remaining, reset_at } = window;
    all.push("x-ratelimit-limit", String(limit), "x-ratelimit-remaining", String(remaining));
    all.push("x-ratelimit-reset", String(reset_at));
  }
  return all;
}

/** An answer to a connection that wanted to become something else, written by hand: no response exists for it. */
export function refuse(socket: Duplex, answer: Answer, exchange: RequestContext): void {
  const all = pairsOf(headersOf(answer, exchange));
  const headers = new Map([...all, ...Object.entries(exchange.fault?.headers ?? {}), ["connection", "close"]]);
  const lines = Array.from(headers, ([name, value]) => `${name}: ${value}\r\n`);
  const text = typeof answer.body === "string" ? answer.body : "";
  // Whoever asked may never close its own end.
  const close = () => void socket.destroy();
  socket.end(`HTTP/1.1 ${answer.status} ${phraseOf(answer.status)}\r\n${lines.join("")}\r\n${text}`, close);
}
