import type { IncomingMessage } from "node:http";
import type { WebSocket, WebSocketServer } from "ws";
import type { Answer } from "../answer.ts";
import type { RequestContext } from "../request-context.ts";
import { pairsOf } from "../send.ts";

/** Whether a request is a WebSocket handshake. */
export const isHandshake = ({ method, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  headers["sec-websocket-version"] === "13" &&
  /^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "");

/** Answers handshakes with 101. Messages of clients may have at most `maxBytesIn` bytes. */
export function createWebSocketUpgrade(maxBytesIn: number) {
  /** The headers of each 101. */
  const headers = new WeakMap<IncomingMessage, readonly string[]>();
  let server: Promise<WebSocketServer> | undefined;

  const createServer = async (): Promise<WebSocketServer> => {
    const { WebSocketServer } = await import("ws");
    const made = new WebSocketServer({ noServer: true, maxPayload: maxBytesIn, perMessageDeflate: false });
    made.on("headers", (lines, incoming) => {
      for (const [name, value] of pairsOf(headers.get(incoming) ?? [])) lines.push(`${name}: ${value}`);
    });
    return made;
  };

  return async (
    { id: request_id }: RequestContext,
    incoming: IncomingMessage,
    opened: (socket: WebSocket) => void,
  ): Promise<Answer> => {
    server ??= createServer();
    const made = await server;
    return {
      status: 101,
      headers: {},
      body: null,
      request_id,
      takeOver(socket, head, lines) {
        headers.set(incoming, lines);
        made.handleUpgrade(incoming, socket, head, (socket) => {
          // A client may send a message that is too long, also after the server has closed.
          socket.on("error", () => {});
          opened(socket);
        });
      },
    };
  };
}
