import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { systemTimer } from "../kernel/clock.ts";
import { yieldToEventLoop } from "../kernel/node/event-loop.ts";
import { createChunkJoiner } from "../kernel/node/small-chunks.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import { type Connections, type Crowd, trackConnections } from "./limits/connections.ts";
import { lingerAfter } from "./limits/linger.ts";

export interface Listening {
  readonly port: number;
  /** The address for clients on this machine, such as `http://127.0.0.1:7400`. */
  readonly url: string;
  /** Accepts no more requests, finishes running ones, and cuts the remaining connections after `grace`. */
  readonly close: (grace?: string) => Promise<void>;
}

/** The reason phrase, such as `Not Found` for 404. Node adds none if the answer is a Response. */
export const phraseOf = (status: number): string => STATUS_CODES[status] ?? "";

export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => unknown;

/** Limits for slow and idle clients, in ms. Node answers a late request with 408 and closes an idle connection. */
export type RequestTimeouts = Pick<
  ServerOptions,
  "headersTimeout" | "requestTimeout" | "connectionsCheckingInterval" | "keepAliveTimeout"
>;

const usualTimeouts: RequestTimeouts = {
  /** From the start of the connection or from the first byte of the request. */
  headersTimeout: 10_000,
  /** For the whole request, from the same moment, even if the service reads its body late. */
  requestTimeout: 30_000,
  /** How often Node checks for late requests. */
  connectionsCheckingInterval: 1_000,
};

/** Node itself refuses malformed, oversized and slow requests: 400, 431 and 408, without a body. */
const limits = { maxHeaderSize: 16_384, keepAliveTimeout: 65_000 };

/** Opens a port. Rejects with Node's error if it cannot. */
export async function listen(
  {
    handle,
    upgrade,
    crowd,
    descriptors = 1,
  }: { handle: Handler; upgrade: Upgrade; crowd?: Crowd; descriptors?: number },
  { port, host }: { port: number; host: string },
  timeouts: RequestTimeouts = usualTimeouts,
): Promise<Listening> {
  const server = createServer({ ...limits, ...timeouts });
  const connections = trackConnections(server, crowd, { descriptors });
  const joinSmallChunks = createChunkJoiner();
  // Without this listener, Node closes the connection even if a request arrived while the process was suspended.
  server.on("timeout", (socket) => {
    const { bytesRead } = socket;
    void yieldToEventLoop().then(() => socket.bytesRead === bytesRead && socket.destroy());
  });
  const take = (response: ServerResponse) => {
    const { req: request } = response;
    // The connection has already sent its last response.
    if (request.socket.writableEnded) return void request.socket.destroy();
    lingerAfter(request);
    if (hostHeaders(request) > 1) return refuse(response);
    return handle(request, response);
  };
  const inTurn =
    (answer: (response: ServerResponse) => unknown) => (request: IncomingMessage, response: ServerResponse) => {
      joinSmallChunks(request);
      if (connections.answering(response, answer)) answer(response);
    };
  server.on("request", inTurn(take));
  server.on(
    "checkExpectation",
    inTurn((response) => response.writeHead(417, { "content-length": 0 }).end()),
  );
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // The answers of earlier requests would be written into the new protocol.
    if (connections.isAnswering(socket)) return void socket.destroy();
    connections.handedOver(socket);
    // The new owner of the socket adds its own listeners. Until then, a reset must not crash the process.
    socket.off("error", ignore).on("error", ignore);
    if (request.headers.upgrade?.toLowerCase() !== "websocket") return ignoreUpgrade(server, request, socket, head);
    if (hostHeaders(request) > 1)
      return void socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n", () => socket.destroy());
    return upgrade(request, socket, head);
  });
  server.on("clientError", refuseBroken);
  server.listen(port, host);
  await once(server, "listening");
  const at = server.address() as AddressInfo;
  const name = host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return {
    port: at.port,
    url: `http://${name}:${at.port}`,
    close: (grace = "10s") => close(server, connections, grace),
  };
}

const ignore = () => {};

const mayLast = Symbol("its body may last");
type Marked = Duplex & { [mayLast]?: boolean };

/**
 * Exempts a request, such as the push of a large repository, from the timeout. The code that reads its body must end
 * the request if no more data comes. Node has no timeout per request, but reports each late request only once.
 */
export function allowLongBody({ socket }: IncomingMessage): void {
  (socket as Marked)[mayLast] = true;
}

/** Does what Node does without this listener: sends only the status, if no response has begun. */
function refuseBroken(error: NodeJS.ErrnoException, socket: Marked): void {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket[mayLast]) {
    socket[mayLast] = false;
    return;
  }
  const { _httpMessage: begun } = socket as Duplex & { readonly _httpMessage?: ServerResponse };
  const statuses: Readonly<Record<string, number>> = {
    ERR_HTTP_REQUEST_TIMEOUT: 408,
    HPE_HEADER_OVERFLOW: 431,
    HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  };
  const status = statuses[error.code ?? ""] ?? 400;
  if (socket.writable && !begun?.headersSent)
    socket.write(`HTTP/1.1 ${status} ${phraseOf(status)}\r\nConnection: close\r\n\r\n`);
  socket.destroy(error);
}

/**
 * HTTP lets a server ignore an offered protocol, such as HTTP/2 by Java's client. Node ignores it only without an
 * upgrade listener. So the request is parsed again without its offer.
 */
function ignoreUpgrade(
  server: Server,
  { method, url, rawHeaders }: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

const hostHeaders = ({ rawHeaders }: IncomingMessage): number =>
  rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host").length;

/** Refuses two `Host` headers: 400 without a body, like Node's own refusals. */
function refuse(response: ServerResponse): void {
  response.writeHead(400, { connection: "close", "content-length": 0 }).end();
}

async function close(server: Server, connections: Connections, grace: string): Promise<void> {
  const closed = once(server, "close");
  server.close();
  let isClosed = false;
  // server.close() alone waits seconds for idle keep-alive connections.
  const closeIdle = () => {
    if (isClosed) return;
    connections.closeIdle();
    systemTimer("20ms", closeIdle);
  };
  closeIdle();
  const cancel = systemTimer(milliseconds(grace), connections.closeAll);
  await closed;
  isClosed = true;
  cancel();
}
