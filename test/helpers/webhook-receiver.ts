import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, createServer as createPlainServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { type Certificate, certificate } from "./certificates.ts";

/** A received request. `body` is the raw text, which the signature covers. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The number of its connection, counted from 1. */
  readonly connection: number;
}

export interface Receiver {
  /** `https://localhost:<port>/hook`, or `http://` with `plain`. */
  readonly url: string;
  readonly port: number;
  readonly certificate: Certificate;
  readonly requests: readonly Received[];
  /** The number of accepted connections. */
  accepted(): number;
  /** Closes idle connections from the receiver's side. */
  closeIdle(): void;
  close(): Promise<void>;
}

export interface ReceiverOptions {
  readonly certificate?: Certificate;
  readonly host?: string;
  /** The port to listen on, for example that of another receiver on another address. */
  readonly port?: number;
  /** Without TLS. */
  readonly plain?: boolean;
}

/** Responds to a request after all of it has arrived; by default with 200. */
export type Handler = (request: Received, response: ServerResponse) => void;

const fine: Handler = (_, response) => response.end("fine");
const usual = certificate();

/** A webhook receiver: HTTPS on loopback with its own certificate for `localhost`, or HTTP with `plain`. */
export async function start(handler: Handler = fine, options: ReceiverOptions = {}): Promise<Receiver> {
  const pair = options.certificate ?? usual;
  const requests: Received[] = [];
  const numbers = new WeakMap<object, number>();
  let connections = 0;
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "", url: path = "", headers, socket } = request;
    const body = Buffer.concat(chunks).toString();
    const received = { method, path, headers, body, connection: numbers.get(socket) ?? 0 };
    requests.push(received);
    handler(received, response);
  };
  const server = options.plain ? createHttpServer(receive) : createServer(pair, receive);
  server.on(options.plain ? "connection" : "secureConnection", (socket) => {
    connections += 1;
    numbers.set(socket, connections);
  });
  const at = await listening(server, pair, options);
  const url = options.plain ? `http://localhost:${at.port}/hook` : at.url;
  return { ...at, url, requests, closeIdle: () => server.closeIdleConnections() };
}

/**
 * A receiver that writes raw bytes. `handler` receives each connection after its TLS handshake, or a plain connection
 * with `plain`. `reset` sends RST on the TCP socket below, because Node refuses that for a TLS socket.
 */
export function startRaw(
  handler: (socket: Socket, reset: () => void) => void,
  options: ReceiverOptions = {},
): Promise<Omit<Receiver, "requests" | "closeIdle">> {
  const pair = options.certificate ?? usual;
  const below = new Map<number | undefined, Socket>();
  const handled = (socket: Socket) => handler(socket, () => below.get(socket.remotePort)?.resetAndDestroy());
  const server = options.plain ? createPlainServer(handled) : createTlsServer(pair, handled);
  server.prependListener("connection", (socket: Socket) => below.set(socket.remotePort, socket));
  return listening(server, pair, options);
}

async function listening(server: Server, certificate: Certificate, { host = "127.0.0.1", port = 0 }: ReceiverOptions) {
  const open = new Set<Socket>();
  let accepts = 0;
  server.on("connection", (socket: Socket) => {
    accepts += 1;
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
  });
  // In these tests, clients close connections in the middle.
  server.on("tlsClientError", () => {}).on("secureConnection", (socket: Socket) => socket.on("error", () => {}));
  await once(server.listen(port, host), "listening");
  const at = (server.address() as AddressInfo).port;
  return {
    url: `https://localhost:${at}/hook`,
    port: at,
    certificate,
    accepted: () => accepts,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
