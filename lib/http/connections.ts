import { readFileSync } from "node:fs";
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../kernel/log.ts";

export type Connections = ReturnType<typeof trackConnections>;

/** Who hears of connections that are closed to make room. */
export interface Crowd {
  readonly log: Pick<Log, "info" | "warn">;
  /** A connection was closed to make room for a new one. */
  dropped(): void;
}

/** What is left for the database, files and requests of our own when connections have taken all that they may. */
const reserve = 64;

/**
 * How many connections may be open at once: the descriptors that the process may have, but for a reserve. Without a limit
 * where the system is not Linux.
 */
export function mostConnections(): number {
  try {
    // Linux alone has this file. `process.report` knows the limit everywhere, and takes 12 ms to say it.
    const limit = Number(/^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Infinity);
    return Math.max(limit - reserve, Math.floor(limit / 2));
  } catch {
    return Infinity;
  }
}

interface Connection {
  /** The answers that it has not been given in full. */
  answers: number;
  /** The last request. */
  request: ServerResponse["req"] | undefined;
}

/** Whether the next bytes are the client's to send: a request, or the rest of its body. */
const isWaiting = ({ answers, request }: Connection) => answers === 0 || (answers === 1 && !request?.complete);

/**
 * The open connections of a server, and which of them are idle. Replaces Node's `closeIdleConnections`, which closes a
 * connection whose slow reader has not taken the whole answer yet, and keeps one that never sent a request.
 *
 * Beyond `most` connections, each new one closes that which has waited longest for its client. So slow clients, however
 * many, shut nobody out; without room for a descriptor, accepting fails for everybody. The log has a line when that begins,
 * and one when half of the connections are gone.
 */
export function trackConnections(server: Server, crowd?: Crowd, most = mostConnections()) {
  /** In the order of their last requests. */
  const connections = new Map<Socket, Connection>();
  /** Those that changed their protocol: no longer this server's to close. */
  const others = new Set<Socket>();
  let isCrowded = false;
  const forget = function (this: Socket) {
    connections.delete(this);
    others.delete(this);
    if (!isCrowded || connections.size + others.size > most / 2) return;
    isCrowded = false;
    crowd?.log.info("there is room for connections again");
  };
  const dropped = () => {
    crowd?.dropped();
    if (isCrowded) return;
    isCrowded = true;
    crowd?.log.warn(
      `${most} connections are open, as many as the process has descriptors for; each new one closes the one that has waited longest for its client, until half are gone`,
    );
  };
  const answered = function (this: ServerResponse) {
    const connection = connections.get(this.req.socket);
    if (connection && connection.answers > 0) connection.answers -= 1;
  };
  const makeRoom = () => {
    for (const [socket, connection] of connections) {
      if (!isWaiting(connection)) continue;
      connections.delete(socket);
      socket.destroy();
      dropped();
      return;
    }
  };
  // The listener is taken off first: a connection comes here again with each upgrade that is ignored on it.
  server.on("connection", (socket) => {
    others.delete(socket);
    connections.set(socket, { answers: 0, request: undefined });
    socket.off("close", forget).once("close", forget);
    if (connections.size + others.size > most) makeRoom();
  });
  const closeIdle = () => {
    for (const [socket, { answers }] of connections) if (answers === 0) socket.destroy();
  };
  server.closeIdleConnections = closeIdle;
  return {
    closeIdle,
    /** Node's own closeAllConnections() knows nothing of connections that changed their protocol. */
    closeAll(): void {
      server.closeAllConnections();
      for (const socket of others) socket.destroy();
    },
    /** Called for a new request and the response that will answer it. */
    answering(response: ServerResponse): void {
      const { req: request } = response;
      const { socket } = request;
      const answers = (connections.get(socket)?.answers ?? 0) + 1;
      connections.delete(socket);
      connections.set(socket, { answers, request });
      response.on("close", answered);
    },
    /** The connection changes its protocol. */
    handedOver(socket: Socket): void {
      connections.delete(socket);
      others.add(socket);
    },
  };
}
