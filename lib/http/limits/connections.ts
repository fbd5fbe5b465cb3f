import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../../kernel/log.ts";
import { descriptorShares } from "../../kernel/node/descriptors.ts";
import { noteArrival, yieldToEventLoop } from "../../kernel/node/event-loop.ts";

export type Connections = ReturnType<typeof trackConnections>;

export interface Crowd {
  readonly log: Pick<Log, "info" | "warn">;
  /** Called after a connection was closed to make room for a new one. */
  dropped(): void;
}

/** Apps keep WebSockets open without limit, so a proxy gets only this share of the descriptors. */
const shareOfProxy = 0.75;

/** How many requests may wait behind an earlier one of their connection, and how many at a port. They use memory. */
const maxPipelined = { ofConnection: 256, ofPort: 16_384 };

/** The most streams and waiting requests of an organization, and never more than half of what others leave free. */
const maxHeld = 4_000;

/** A listening port with its limits. */
interface Port {
  readonly crowd: Crowd | undefined;
  /** The most descriptors for all connections of the process. Checked when this port accepts a connection. */
  readonly most: number;
  /** Descriptors per connection: two for a proxy, which also connects to the app. */
  readonly descriptors: number;
  /** How many streams and waiting requests each organization has. */
  readonly held: Map<string, number>;
  /** The requests that wait for the answer to an earlier one of their connection. */
  pipelined: number;
}

interface Connection {
  readonly socket: Socket;
  readonly port: Port;
  /** Whether it had a request since it was last placed in the order. */
  hasAsked: boolean;
  /** The responses that the client has not received completely. Only the first has begun. */
  readonly responses: { readonly response: ServerResponse; readonly begin: (response: ServerResponse) => unknown }[];
  /** Whether it has switched protocols. Then it is closed only to make room, and with `isKept` not even then. */
  upgraded: boolean;
  isKept: boolean;
}

/** The connections of this process, whose ports share its descriptors. */
const ofProcess = {
  /** Roughly in the order of their last requests. Those with `hasAsked` still have to move to the end. */
  all: new Set<Connection>(),
  /** Ports that have closed connections to make room. Removed once there is room again. */
  crowded: new Set<Port>(),
  taken: 0,
  /** How many descriptors the apps' WebSockets use. */
  upgradedApps: 0,
};

const tracked = Symbol("connection");
const connectionOf = (socket: Socket) => (socket as Socket & { [tracked]?: Connection })[tracked];

/** Whether the server is waiting for the client: for a request, or for the rest of its body. */
const isWaiting = ({ isKept, responses: [first, second] }: Connection) =>
  !isKept && second === undefined && first?.response.req.complete !== true;

function forget(connection: Connection): void {
  const { socket, port, responses, isKept } = connection;
  if (!ofProcess.all.delete(connection)) return;
  Reflect.deleteProperty(socket, tracked);
  port.pipelined -= Math.max(0, responses.length - 1);
  ofProcess.taken -= port.descriptors;
  if (isKept && port.descriptors > 1) ofProcess.upgradedApps -= port.descriptors;
  for (const one of ofProcess.crowded) {
    if (ofProcess.taken > one.most / 2) continue;
    ofProcess.crowded.delete(one);
    one.crowd?.log.info("there is room for connections again");
  }
}

/**
 * A waiting connection with roughly the oldest request. Those before it are busy or have asked: they move back. The
 * newest has had no time to ask, so it is returned only if no other waits.
 */
function oldest(newest: Connection): Connection | undefined {
  const { all } = ofProcess;
  let left = 2 * all.size;
  for (const one of all) {
    if (left === 0) break;
    left -= 1;
    if (!one.hasAsked && one !== newest && isWaiting(one)) return one;
    one.hasAsked = false;
    all.delete(one);
    all.add(one);
  }
  return all.has(newest) && isWaiting(newest) ? newest : undefined;
}

/** Closes the connection, of any port, that has waited longest for its client. Returns false if none is waiting. */
function makeRoom(newest: Connection): boolean {
  const found = oldest(newest);
  if (!found) return false;
  const { socket, port } = found;
  forget(found);
  socket.destroy();
  port.crowd?.dropped();
  if (ofProcess.crowded.has(port)) return true;
  ofProcess.crowded.add(port);
  port.crowd?.log.warn(
    `${ofProcess.all.size} connections are open, as many as the process has descriptors for; each new one closes the connection that has waited longest for its client, until half are gone`,
  );
  return true;
}

/** Protects a connection that switched protocols from being closed to make room. Called once its client is known. */
export function keepOpen(socket: Socket): void {
  const connection = connectionOf(socket);
  if (!connection || connection.isKept) return;
  connection.isKept = true;
  const { descriptors } = connection.port;
  if (descriptors > 1) ofProcess.upgradedApps += descriptors;
}

/**
 * Counts a connection for an organization while it has a stream or a waiting request. Returns the function that ends
 * this; undefined if the organization has too many: it must not lock out the clients of others.
 */
export function hold(socket: Socket, organization_id: string): (() => void) | undefined {
  const port = connectionOf(socket)?.port;
  if (!port) return () => {};
  const count = port.held.get(organization_id) ?? 0;
  let left = port.most - ofProcess.upgradedApps;
  for (const [other, its] of port.held) if (other !== organization_id) left -= its;
  if (count >= Math.min(maxHeld, left / 2)) return undefined;
  port.held.set(organization_id, count + 1);
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    const rest = (port.held.get(organization_id) ?? 1) - 1;
    if (rest > 0) port.held.set(organization_id, rest);
    else port.held.delete(organization_id);
  };
}

function answered(this: ServerResponse): void {
  const { socket } = this.req;
  const connection = connectionOf(socket);
  if (connection?.responses[0]?.response !== this) return;
  connection.responses.shift();
  const [next] = connection.responses;
  if (!next) return;
  connection.port.pipelined -= 1;
  // Other connections get their turn in between.
  void yieldToEventLoop().then(() => socket.destroyed || next.begin(next.response));
}

/**
 * Tracks the open connections of a server, and which of them are idle. Replaces Node's `closeIdleConnections`, which
 * closes a connection whose slow client is still reading a response, and keeps a connection without any request. Beyond
 * `most`, each new connection closes the one that has waited longest for its client: without a free descriptor,
 * accepting would fail for everybody. Logs when this begins, and when half of the connections are closed again.
 */
export function trackConnections(
  server: Server,
  crowd?: Crowd,
  {
    descriptors = 1,
    most = descriptorShares().connections * (descriptors > 1 ? shareOfProxy : 1),
  }: Partial<Pick<Port, "descriptors" | "most">> = {},
) {
  const port: Port = { crowd, most, descriptors, held: new Map(), pipelined: 0 };
  const ours = () => [...ofProcess.all].filter((one) => one.port === port);
  server.on("connection", (socket: Socket & { [tracked]?: Connection }) => {
    // Requests to apps do not write to the database.
    if (descriptors === 1) noteArrival();
    // An ignored upgrade emits "connection" again for its socket.
    if (socket[tracked]) return void Object.assign(socket[tracked], { hasAsked: true, upgraded: false });
    const connection: Connection = { socket, port, responses: [], hasAsked: false, upgraded: false, isKept: false };
    socket[tracked] = connection;
    ofProcess.all.add(connection);
    ofProcess.taken += descriptors;
    socket.once("close", () => forget(connection));
    while (ofProcess.taken > most && makeRoom(connection));
  });
  const closeIdle = () => {
    for (const { socket, responses, upgraded } of ours()) if (responses.length === 0 && !upgraded) socket.destroy();
  };
  server.closeIdleConnections = closeIdle;
  return {
    closeIdle,
    /** Node's closeAllConnections() misses connections that switched protocols. */
    closeAll(): void {
      for (const { socket } of ours()) socket.destroy();
    },
    /**
     * Called for each new request, with its response. Returns whether the request is handled now: a connection has one
     * at a time. Otherwise `begin` is called after the earlier answers. If too many wait, the connection is closed.
     */
    answering(response: ServerResponse, begin: (response: ServerResponse) => unknown): boolean {
      const { socket } = response.req;
      // The client had sent more requests before its connection was cut.
      if (socket.destroyed) return false;
      const connection = connectionOf(socket);
      if (!connection) return true;
      const { responses } = connection;
      connection.hasAsked = true;
      response.on("close", answered);
      const isFirst = responses.length === 0;
      if (responses.length > maxPipelined.ofConnection || (!isFirst && port.pipelined >= maxPipelined.ofPort)) {
        socket.destroy();
        return false;
      }
      if (!isFirst) port.pipelined += 1;
      responses.push({ response, begin });
      return isFirst;
    },
    isAnswering: (socket: Socket): boolean => (connectionOf(socket)?.responses.length ?? 0) > 0,
    /** The connection switches protocols. Until `keepOpen`, it counts as waiting for a request. */
    handedOver(socket: Socket): void {
      Object.assign(connectionOf(socket) ?? {}, { hasAsked: true, upgraded: true });
    },
  };
}
