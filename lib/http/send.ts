import type { Duplex } from "node:stream";
import { FastResponse } from "srvx";
import type { Answer } from "./answer.ts";
import type { Exchange } from "./exchange.ts";
import { phraseOf } from "./server.ts";
import type { Window } from "./windows.ts";

/** Stands for an answer that is on its socket already. */
export const written: Response = new FastResponse(null);

/** All headers in one go; what is whole is written to its socket without a detour over a Response. */
export function send({ status, headers, body, request_id }: Answer, exchange: Exchange): Response {
  const { method, window, fault } = exchange;
  const all: Record<string, string> = { ...headers, ...stamp(request_id, window), ...fault?.headers };
  const isHead = method === "HEAD";
  if (body instanceof ReadableStream) {
    if (!isHead) return new FastResponse(body, { status, statusText: phraseOf(status), headers: all });
    void body.cancel();
  } else if (body !== null) all["content-length"] ??= String(Buffer.byteLength(body));
  const shown = isHead || body instanceof ReadableStream ? null : body;
  const reply = fault ? undefined : exchange.reply;
  if (!reply) return new FastResponse(shown, { status, statusText: phraseOf(status), headers: all });
  if (shown === null && !isHead && status !== 204 && status !== 304) all["content-length"] = "0";
  reply.writeHead(status, all).end(shown ?? undefined);
  return written;
}

/** What every answer under the interface carries: the request's id, and the window that it was counted in. */
export function stamp(request_id: string, window: Window | undefined): Record<string, string> {
  const id = { "x-request-id": request_id };
  if (!window) return id;
  return {
    ...id,
    "x-ratelimit-limit": String(window.limit),
    "x-ratelimit-remaining": String(window.remaining),
    "x-ratelimit-reset": String(window.reset_at),
  };
}

/** An answer to a connection that wanted to become something else, written by hand: no response exists for it. */
export function refuse(socket: Duplex, { status, headers, body, request_id }: Answer, { window }: Exchange): void {
  const text = typeof body === "string" ? body : "";
  const length = String(Buffer.byteLength(text));
  const all = { ...headers, ...stamp(request_id, window), connection: "close", "content-length": length };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${phraseOf(status)}\r\n${lines.join("")}\r\n${text}`);
}
