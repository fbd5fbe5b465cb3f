import { type Agent, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import type { Duplex } from "node:stream";
import { maxHeaderBytes, maxInterim } from "../../kernel/answers-of-apps.ts";
import { https } from "../../kernel/lazy-node-modules.ts";
import type { JoinSmallChunks } from "../../kernel/node/small-chunks.ts";
import { hasBody, passedHeaders, requestHeaders } from "./headers.ts";

export interface Upstream {
  readonly port: number;
  readonly agent: Agent;
  /** The agent of requests that cannot be sent twice; false for a new connection of Node's default agent. */
  readonly single: Agent | false;
  readonly behindProxy: boolean;
  /** Whether to drop the Authorization header, because it is for the proxy and not for the app. */
  readonly hidesAuthorization: boolean;
  readonly joinSmallChunks: JoinSmallChunks;
  /** Set if the target is another service instead of an app on this machine. */
  readonly service?: Service;
}

/** A service that requests are forwarded to. */
export interface Service {
  readonly host: string;
  readonly isSecure: boolean;
  readonly path: string;
  /** Sent instead of the headers that an app would get. */
  readonly headers: string[];
  /** Calls `late` if no response begins in time. Returns a function that cancels this. */
  readonly timer: (late: (error: Error) => void) => () => void;
  readonly onAnswer: (answer: IncomingMessage) => void;
  readonly onFailure: (error: Error) => void;
}

/**
 * `failed`: no response, so the request may be sent again. `overflow`: its headers are too large. `done`: the client
 * has its response, or has left.
 */
export type Result = "done" | "failed" | "overflow";

const failureOf = ({ code }: NodeJS.ErrnoException): Result => (code === "HPE_HEADER_OVERFLOW" ? "overflow" : "failed");

const safeToRepeat = /^(GET|HEAD|OPTIONS|TRACE|PUT|DELETE)$/;
/** Whether a request may be sent again: it is idempotent and has no body. */
export const isRepeatable = (request: IncomingMessage): boolean =>
  safeToRepeat.test(request.method ?? "") && !hasBody(request);

const ask = (request: IncomingMessage, headers: string[], { port, service }: Upstream, agent: Agent | false) =>
  (service?.isSecure ? https().request : send)({
    host: service?.host ?? "127.0.0.1",
    port,
    method: request.method,
    path: service?.path ?? request.url,
    headers: headers as unknown as Record<string, string>,
    agent,
    maxHeaderSize: maxHeaderBytes,
  });

/**
 * Streams a request to an app or a service, and the response back. `drivers/outbound` refuses 127.0.0.1 and has a
 * timeout.
 */
export function forward(request: IncomingMessage, response: ServerResponse, upstream: Upstream): Promise<Result> {
  // The client left while its request waited for the app.
  if (response.destroyed) return Promise.resolve("done");
  return new Promise((resolve) => {
    const { service } = upstream;
    const headers = service?.headers ?? requestHeaders(request, upstream);
    const repeatable = isRepeatable(request);
    // With `Connection: close`, an app may answer and close before it has read the body, and its answer would be lost.
    if (!repeatable) headers.push("Connection", "keep-alive");
    // A kept-alive connection may be closing right now. A request that cannot be sent twice gets a new one.
    const asked = ask(request, headers, upstream, repeatable ? upstream.agent : upstream.single);
    const stopTimer = service?.timer((error) => asked.destroy(error)) ?? (() => {});
    asked.once("close", stopTimer);
    const leave = () => {
      if (!response.writableEnded) asked.destroy();
      resolve("done");
    };
    response.once("close", leave);
    const fail = (answered: { destroy(): void }, result: Result = "failed") => {
      answered.destroy();
      response.off("close", leave);
      resolve(response.destroyed ? "done" : result);
    };
    // The app switched protocols unasked. Without this listener, Node closes the connection silently.
    asked.on("upgrade", (_, socket) => fail(socket));
    let isAnswered = () => false;
    asked.on("response", (answer) => {
      isAnswered = () => answer.complete;
      upstream.joinSmallChunks(answer);
      stopTimer();
      answer.on("error", () => response.headersSent && response.destroy());
      service?.onAnswer(answer);
      if (!begin(response, answer)) return fail(answer);
      // The client must not take half a response for a whole one.
      answer.on("aborted", () => response.destroy());
      answer.pipe(response);
      // The app has answered, so it does not need the rest of the body.
      answer.once("end", () => {
        if (repeatable || request.complete) return;
        request.unpipe(asked).resume();
        asked.destroy();
      });
    });
    let interim = 0;
    asked.on("information", ({ statusCode, rawHeaders }) => {
      if (++interim > maxInterim) return fail(asked);
      if (statusCode !== 103 || rawHeaders.length === 0 || interim > maxHints) return;
      try {
        response.writeEarlyHints(pairs(rawHeaders));
      } catch {
        // Node refuses malformed links. The response is sent without these hints.
      }
    });
    asked.on("error", (error) => {
      // The app may have read the rest of the body as another request, and answered that too.
      if (isAnswered()) return;
      if (response.headersSent) return void response.destroy();
      service?.onFailure(error);
      fail(asked, failureOf(error));
    });
    if (repeatable) asked.end();
    else request.pipe(asked);
  });
}

/** How many early hints reach the client. They have no backpressure: an app could fill the memory with them. */
const maxHints = 16;

/** Begins the response. Returns false if Node cannot write it: an app may send any status and any reason. */
function begin(response: ServerResponse, answer: IncomingMessage): boolean {
  const { statusCode = 0, statusMessage = "" } = answer;
  if (statusCode < 200) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Node throws for a reason that contains them
  const reason = statusMessage.replaceAll(/[\u0000-\u001f\u007f]/g, " ");
  response.writeHead(statusCode, reason, passedHeaders(answer));
  return true;
}

function pairs(raw: readonly string[]): Record<string, string[]> {
  const headers = new Map<string, string[]>();
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] ?? "").toLowerCase();
    const values = headers.get(name) ?? [];
    values.push(raw[i + 1] ?? "");
    headers.set(name, values);
  }
  return Object.fromEntries(headers);
}

/** The most bytes before the answer. A client should wait for it (RFC 6455), but some send frames at once. */
const maxEarly = 65_536;

/**
 * Reads from a client that waits, because only a reader learns that it has left. Then, or if it sends too much, its
 * socket is destroyed. The returned function stops this and puts back what was read.
 */
function untilAnswered(socket: Duplex): () => void {
  const early: Buffer[] = [];
  let size = 0;
  const leave = () => socket.destroy();
  const keep = (chunk: Buffer) => {
    early.push(chunk);
    size += chunk.length;
    if (size > maxEarly) leave();
  };
  socket.on("data", keep).once("end", leave).resume();
  return () => {
    socket.off("data", keep).off("end", leave).pause();
    if (size > 0) socket.unshift(Buffer.concat(early));
  };
}

/** Connects a client's WebSocket to the app's. */
export function forwardUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  upstream: Upstream,
  opened: (end: () => void) => void,
): Promise<Result> {
  // The client left while its request waited for the app.
  if (socket.readableEnded) socket.destroy();
  if (socket.destroyed) return Promise.resolve("done");
  return new Promise((resolve) => {
    const headers = upstream.service?.headers ?? requestHeaders(request, upstream);
    headers.push("Connection", "Upgrade", "Upgrade", request.headers.upgrade ?? "websocket");
    const asked = ask(request, headers, upstream, false);
    const leave = () => asked.destroy();
    socket.once("close", leave);
    const stop = untilAnswered(socket);
    asked.on("upgrade", (answer, app, first) => {
      stop();
      socket.off("close", leave);
      socket.write(headOf(answer, ["Connection: Upgrade", `Upgrade: ${answer.headers.upgrade ?? "websocket"}`]));
      if (first.length > 0) socket.write(first);
      if (head.length > 0) app.write(head);
      const end = () => {
        app.destroy();
        socket.destroy();
      };
      for (const one of [app, socket]) one.on("error", end).on("close", end);
      app.pipe(socket).pipe(app);
      opened(end);
      app.once("close", () => resolve("done"));
    });
    // The app did not switch protocols: forward its response, then close the connection.
    asked.on("response", (answer) => {
      upstream.joinSmallChunks(answer);
      socket.write(headOf(answer, ["Connection: close"]));
      answer.on("error", () => {}).pipe(socket);
      answer.on("close", () => {
        // After a whole response, the pipe closes the connection. After half a response, it does not.
        if (!answer.complete) socket.destroy();
        resolve("done");
      });
    });
    let interim = 0;
    asked.on("information", () => ++interim > maxInterim && asked.destroy());
    asked.on("error", (error) => {
      stop();
      upstream.service?.onFailure(error);
      resolve(socket.destroyed ? "done" : failureOf(error));
    });
    asked.end();
  });
}

function headOf(answer: IncomingMessage, more: readonly string[]): string {
  const passed = passedHeaders(answer);
  const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`];
  for (let i = 0; i < passed.length; i += 2) lines.push(`${passed[i]}: ${passed[i + 1]}`);
  return `${[...lines, ...more].join("\r\n")}\r\n\r\n`;
}
