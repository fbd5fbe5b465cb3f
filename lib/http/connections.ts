import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export type Connections = ReturnType<typeof trackConnections>;

/**
 * The open connections of a server, and which of them are idle. Replaces Node's `closeIdleConnections`, which closes a
 * connection whose slow reader has not taken the whole answer yet, and keeps one that never sent a request.
 */
export function trackConnections(server: Server) {
  /** How many answers each connection has not been given in full. */
  const unfinished = new Map<Socket, number>();
  const forget = function (this: Socket) {
    unfinished.delete(this);
  };
  const answered = function (this: ServerResponse) {
    const { socket } = this.req;
    const count = unfinished.get(socket);
    if (count) unfinished.set(socket, count - 1);
  };
  // The listener is taken off first: a connection comes here again with each upgrade that is ignored on it.
  server.on("connection", (socket) => {
    unfinished.set(socket, 0);
    socket.off("close", forget).once("close", forget);
  });
  const closeIdle = () => {
    for (const [socket, count] of unfinished) if (count === 0) socket.destroy();
  };
  server.closeIdleConnections = closeIdle;
  return {
    closeIdle,
    /** A request has come, and this will answer it. */
    answering(response: ServerResponse): void {
      const { socket } = response.req;
      unfinished.set(socket, (unfinished.get(socket) ?? 0) + 1);
      response.on("close", answered);
    },
    /** The connection changes its protocol: it is no longer this server's to close. */
    handedOver(socket: Socket): void {
      unfinished.delete(socket);
    },
  };
}
