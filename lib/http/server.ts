import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { systemTimer } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import { createPatience, type Patience } from "./patience.ts";

export interface Listening {
  readonly port: number;
  /** `http://127.0.0.1:7400`: where clients on this machine reach it. */
  readonly url: string;
  /** Accepts no more, finishes what is in flight, and cuts what is left after `grace`. */
  close(grace?: string): Promise<void>;
}

/** `Not Found` for 404: Node writes none by itself where an answer is given as a Response. */
export const phraseOf = (status: number): string => STATUS_CODES[status] ?? "";

export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => unknown;

/** Oversized requests are Node's own to refuse: its 400 and 431 carry no more than their status. Slow ones are ours. */
const limits = {
  requestTimeout: 0,
  headersTimeout: 0,
  // Node would look for slow ones all the same, to find none: as seldom as a timer can be set.
  connectionsCheckingInterval: 2 ** 31 - 1,
  maxHeaderSize: 16_384,
  keepAliveTimeout: 65_000,
};

export async function listen(
  { handle, upgrade }: { handle: Handler; upgrade: Upgrade },
  { port, host }: { port: number; host: string },
  patience: Patience = createPatience(),
): Promise<Listening> {
  const server = createServer(limits, (request, response) => {
    patience.asked(request, response);
    if (hostHeaders(request) > 1) return refuse(response);
    return handle(request, response);
  });
  // Node's own takes a connection for idle whose answer is still on its way to a slow reader.
  server.closeIdleConnections = () => {
    for (const socket of patience.idle()) socket.destroy();
  };
  server.on("checkExpectation", (request, response) => {
    patience.asked(request, response);
    response.writeHead(417, { "content-length": 0 }).end();
  });
  const forget = function (this: Socket) {
    patience.left(this);
  };
  // Taken off first: a connection comes here again with every protocol that is passed over on it.
  server.on("connection", (socket) => {
    patience.connected(socket);
    socket.off("close", forget).once("close", forget);
  });
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    patience.left(socket);
    // Whoever takes it over has listeners of their own; until then a reset must not end the process.
    socket.off("error", ignore).on("error", ignore);
    if (request.headers.upgrade?.toLowerCase() !== "websocket") return passOver(server, request, socket, head);
    if (hostHeaders(request) > 1)
      return void socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n", () => socket.destroy());
    return upgrade(request, socket, head);
  });
  server.listen(port, host);
  await once(server, "listening");
  const at = server.address() as AddressInfo;
  const name = host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return {
    port: at.port,
    url: `http://${name}:${at.port}`,
    close: (grace = "10s") => close(server, patience, grace),
  };
}

const ignore = () => {};

/**
 * HTTP lets a server pass an offered protocol over, such as the HTTP/2 that Java's client offers; Node does so only where
 * nobody listens for upgrades at all. So the request is read once more, without its offer.
 */
function passOver(server: Server, { method, url, rawHeaders }: IncomingMessage, socket: Socket, head: Buffer): void {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2);
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

const hostHeaders = ({ rawHeaders }: IncomingMessage): number =>
  rawHeaders.reduce(
    (sum, name, i) => sum + (i % 2 === 0 && name.length === 4 && name.toLowerCase() === "host" ? 1 : 0),
    0,
  );

/** CONTRACT section 1: "two `Host` headers are 400". As with Node's own, nothing but the status is told. */
function refuse(response: ServerResponse): void {
  response.writeHead(400, { connection: "close", "content-length": 0 }).end();
}

async function close(server: Server, patience: Patience, grace: string): Promise<void> {
  const closed = once(server, "close");
  server.close();
  // Nothing is in flight on a connection that never sent a request.
  for (const socket of patience.silent()) socket.destroy();
  let over = false;
  // close() alone waits seconds for keep-alive sockets that are idle, or become so.
  const sweep = () => {
    if (over) return;
    server.closeIdleConnections();
    systemTimer("20ms", sweep);
  };
  sweep();
  const cut = systemTimer(milliseconds(grace), () => server.closeAllConnections());
  await closed;
  over = true;
  cut();
}
