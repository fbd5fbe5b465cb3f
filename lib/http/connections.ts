import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { descriptorShares } from "../kernel/descriptors.ts";
import type { Log } from "../kernel/log.ts";

export type Connections = ReturnType<typeof trackConnections>;

/** Called for connections that are closed to make room. */
export interface Crowd {
  readonly log: Pick<Log, "info" | "warn">;
  /** A connection was closed to make room for a new one. */
  dropped(): void;
}

/** Apps keep their WebSockets open for as long as they like, so a proxy leaves room for the other ports. */
const shareOfProxy = 0.75;

/** A port, whose log says when its connections are closed to make room. */
interface Port {
  readonly crowd: Crowd | undefined;
  readonly most: number;
  readonly descriptors: number;
}

interface Connection {
  readonly port: Port;
  /** The answers that it has not received completely. */
  answers: number;
  /** The last request. */
  request: ServerResponse["req"] | undefined;
  /** It changed its protocol. This server ends it only to make room. */
  isUpgraded?: true;
}

/** Whether the server waits for the client: for a request, or for the rest of its body. */
const isWaiting = ({ answers, request }: Connection) => answers === 0 || (answers === 1 && !request?.complete);

// All ports of a process share its descriptors.
/** The connections of all ports, in the order of their last requests. */
const connections = new Map<Socket, Connection>();
/** The connections that changed their protocol and stay open. */
const others = new Map<Socket, Port>();
/** The ports that have closed connections to make room, until there is room again. */
const crowded = new Set<Port>();
let taken = 0;

function forget(this: Socket): void {
  const port = connections.get(this)?.port ?? others.get(this);
  if (!port) return;
  connections.delete(this);
  others.delete(this);
  taken -= port.descriptors;
  for (const one of crowded) {
    if (taken > one.most / 2) continue;
    crowded.delete(one);
    one.crowd?.log.info("there is room for connections again");
  }
}

/** Closes the connection that has waited longest for its client, at any port; answers whether there is one. */
function makeRoom(): boolean {
  for (const [socket, connection] of connections) {
    if (!isWaiting(connection)) continue;
    const { port } = connection;
    forget.call(socket);
    socket.destroy();
    port.crowd?.dropped();
    if (crowded.has(port)) return true;
    crowded.add(port);
    port.crowd?.log.warn(
      `${connections.size + others.size} connections are open, as many as the process has descriptors for; each new one closes the connection that has waited longest for its client, until half are gone`,
    );
    return true;
  }
  return false;
}

/** Protects a connection with another protocol from being closed for room. Its client is known. */
export function keepOpen(socket: Socket): void {
  const connection = connections.get(socket);
  if (!connection) return;
  connections.delete(socket);
  others.set(socket, connection.port);
}

function answered(this: ServerResponse): void {
  const connection = connections.get(this.req.socket);
  if (connection && connection.answers > 0) connection.answers -= 1;
}

interface Limits {
  /** How many descriptors the connections of the process may take when this port gets one more. */
  readonly most?: number;
  /** Descriptors for one connection: two at a proxy, which also opens one to the app. */
  readonly descriptors?: number;
}

/**
 * The open connections of a server, and which of them are idle. Replaces Node's `closeIdleConnections`, which closes a
 * connection whose slow reader has not read the whole answer yet, and keeps a connection without any request. Beyond
 * `most`, each new connection closes the one that has waited longest for its client. So slow clients shut nobody out;
 * without a free descriptor, accepting would fail for everybody. The log has a line when this begins, and one when half
 * of the connections are gone.
 */
export function trackConnections(
  server: Server,
  crowd?: Crowd,
  { descriptors = 1, most = descriptorShares().connections * (descriptors > 1 ? shareOfProxy : 1) }: Limits = {},
) {
  const port: Port = { crowd, most, descriptors };
  // The listener is taken off first: a connection comes here again with each upgrade that is ignored on it.
  server.on("connection", (socket) => {
    if (!connections.has(socket)) taken += descriptors;
    connections.set(socket, { port, answers: 0, request: undefined });
    socket.off("close", forget).once("close", forget);
    while (taken > most && makeRoom());
  });
  const closeIdle = () => {
    for (const [socket, { port: at, answers, isUpgraded }] of connections)
      if (at === port && answers === 0 && !isUpgraded) socket.destroy();
  };
  server.closeIdleConnections = closeIdle;
  return {
    closeIdle,
    /** Node's closeAllConnections() does not know connections that changed their protocol. */
    closeAll(): void {
      for (const [socket, at] of others) if (at === port) socket.destroy();
      for (const [socket, { port: at }] of connections) if (at === port) socket.destroy();
    },
    /** Called for a new request and the response that will answer it. */
    answering(response: ServerResponse): void {
      const { req: request } = response;
      const { socket } = request;
      const connection = connections.get(socket);
      if (!connection) return;
      connections.delete(socket);
      connections.set(socket, { port, answers: connection.answers + 1, request });
      response.on("close", answered);
    },
    /** The connection changes its protocol. Until `keepOpen` it counts as one without a request. */
    handedOver(socket: Socket): void {
      connections.delete(socket);
      connections.set(socket, { port, answers: 0, request: undefined, isUpgraded: true });
    },
  };
}
