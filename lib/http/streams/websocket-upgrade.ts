import type { IncomingMessage } from "node:http";
import type { WebSocket, WebSocketServer } from "ws";
import type { Answer } from "../answer.ts";
import type { RequestContext } from "../request-context.ts";
import { pairsOf } from "../send.ts";

export const isHandshake = ({ method, headers }: IncomingMessage): boolean =>
  method === "GET" &&
  headers["sec-websocket-version"] === "13" &&
  /^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "");

/** Answers handshakes with 101. Messages of clients may have at most `maxBytesIn` bytes. */
export function createWebSocketUpgrade(maxBytesIn: number) {
  let server: Promise<WebSocketServer> | undefined;

  const createServer = async (): Promise<WebSocketServer> => {
    const { WebSocketServer } = await import("ws");
    return new WebSocketServer({ noServer: true, maxPayload: maxBytesIn, perMessageDeflate: false });
  };

  return async (
    { id: request_id }: RequestContext,
    incoming: IncomingMessage,
    opened: (socket: WebSocket) => void,
  ): Promise<Answer> => {
    server ??= createServer();
    const upgrading = await server;
    return {
      status: 101,
      headers: {},
      body: null,
      request_id,
      takeOver(socket, head, headers) {
        // `handleUpgrade` emits this event.
        upgrading.removeAllListeners("headers").once("headers", (lines) => {
          for (const [name, value] of pairsOf(headers)) lines.push(`${name}: ${value}`);
        });
        upgrading.handleUpgrade(incoming, socket, head, (socket) => {
          // A client may send a message that is too long, even after the server has closed.
          socket.on("error", () => {});
          opened(socket);
        });
      },
    };
  };
}
