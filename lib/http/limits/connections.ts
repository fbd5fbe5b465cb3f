import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../../kernel/log.ts";
import { descriptorShares } from "../../kernel/node/descriptors.ts";
import { noteArrival, yieldToEventLoop } from "../../kernel/node/event-loop.ts";
import { createRecencyList, type Entry } from "../../kernel/recency-list.ts";

export type Connections = ReturnType<typeof trackConnections>;

/** Notified when connections are closed to make room. */
export interface Crowd {
  readonly log: Pick<Log, "info" | "warn">;
  /** Called after a connection was closed to make room for a new one. */
  dropped(): void;
}

/** Apps keep WebSockets open without limit, so a proxy leaves room for the other ports. */
const shareOfProxy = 0.75;

/**
 * How many requests may wait behind an earlier one of their connection, and how many at a port. They take
 * memory, and a client that pipelines without end must not.
 */
const mostPipelined = { ofConnection: 256, ofPort: 16_384 };

/** The most streams and waiting requests of an organization; half of what others leave of the port, if that is less. */
const mostHeld = 4_000;

/** A listening port with its limits. */
interface Port {
  readonly crowd: Crowd | undefined;
  readonly most: number;
  readonly descriptors: number;
  /** How many streams and waiting requests each organization has. */
  readonly held: Map<string, number>;
  /** The requests that wait for the answer to an earlier one of their connection. */
  pipelined: number;
}

interface Connection {
  readonly socket: Socket;
  readonly port: Port;
  /** Responses that the client has not received completely. */
  answers: number;
  /** The last request. */
  request: ServerResponse["req"] | undefined;
  /** Handles the requests that wait for the answer to an earlier one, in their order. */
  readonly pipelined: (() => void)[];
  /** Whether the connection has switched protocols. This server closes it only to make room. */
  isUpgraded: boolean;
}

/** Whether the server is waiting for the client: for a request, or for the rest of its body. */
const isWaiting = ({ answers, request }: Connection) => answers === 0 || (answers === 1 && !request?.complete);

// All ports of a process share its descriptors.
/** The connections of all ports. */
const connections = new Map<Socket, Entry<Connection>>();
/** The same in the order of their last requests. */
const byLastRequest = createRecencyList<Connection>();
/** Connections that switched protocols and stay open. */
const others = new Map<Socket, Port>();
/** Ports that have closed connections to make room. Removed once there is room again. */
const crowded = new Set<Port>();
let taken = 0;
/** The descriptors of the apps' WebSockets. */
let upgradedApps = 0;

/** Removes a connection from the Map and from the order. */
function unlist(entry: Entry<Connection>): void {
  connections.delete(entry.value.socket);
  byLastRequest.remove(entry);
}

function forget(this: Socket): void {
  const entry = connections.get(this);
  const port = entry?.value.port ?? others.get(this);
  if (!port) return;
  port.pipelined -= entry?.value.pipelined.length ?? 0;
  if (entry) unlist(entry);
  if (others.delete(this) && port.descriptors > 1) upgradedApps -= port.descriptors;
  taken -= port.descriptors;
  for (const one of crowded) {
    if (taken > one.most / 2) continue;
    crowded.delete(one);
    one.crowd?.log.info("there is room for connections again");
  }
}

/** Closes the connection, of any port, that has waited longest for its client. Returns false if none is waiting. */
function makeRoom(): boolean {
  const found = byLastRequest.find(isWaiting);
  if (!found) return false;
  const { socket, port } = found;
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

/** Protects a connection that switched protocols from being closed to make room. Called once its client is known. */
export function keepOpen(socket: Socket): void {
  const entry = connections.get(socket);
  if (!entry) return;
  unlist(entry);
  const { port } = entry.value;
  others.set(socket, port);
  if (port.descriptors > 1) upgradedApps += port.descriptors;
}

/**
 * Counts a connection for an organization while it has a stream or a waiting request. Returns the function that ends
 * this; undefined if the organization has too many: it must not lock out the clients of others.
 */
export function hold(socket: Socket, organization_id: string): (() => void) | undefined {
  const port = connections.get(socket)?.value.port ?? others.get(socket);
  if (!port) return () => {};
  const count = port.held.get(organization_id) ?? 0;
  let left = port.most - upgradedApps;
  for (const [other, its] of port.held) if (other !== organization_id) left -= its;
  if (count >= Math.min(mostHeld, left / 2)) return undefined;
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
  const connection = connections.get(this.req.socket)?.value;
  if (!connection || connection.answers === 0) return;
  connection.answers -= 1;
  // A connection is in the old generation and would keep its request until the next one.
  if (connection.answers === 0) connection.request = undefined;
  const next = connection.pipelined.shift();
  if (!next) return;
  connection.port.pipelined -= 1;
  // Other connections get their turn in between.
  void yieldToEventLoop().then(next);
}

interface Limits {
  /** The most descriptors for all connections of the process. Checked when this port accepts a connection. */
  readonly most?: number;
  /** Descriptors per connection: two for a proxy, which also connects to the app. */
  readonly descriptors?: number;
}

/**
 * Tracks the open connections of a server, and which of them are idle. Replaces Node's `closeIdleConnections`, which
 * closes a connection whose slow client is still reading a response, and keeps a connection without any request. Beyond
 * `most`, each new connection closes the one that has waited longest for its client. So slow clients cannot lock out
 * others; without a free descriptor, accepting would fail for everybody. Logs when this begins, and when half of the
 * connections are gone.
 */
export function trackConnections(
  server: Server,
  crowd?: Crowd,
  { descriptors = 1, most = descriptorShares().connections * (descriptors > 1 ? shareOfProxy : 1) }: Limits = {},
) {
  const port: Port = { crowd, most, descriptors, held: new Map(), pipelined: 0 };
  // Remove the listener first: after an ignored upgrade, the same socket gets here again.
  server.on("connection", (socket) => {
    // Those of the apps' port write nothing.
    if (descriptors === 1) noteArrival();
    const before = connections.get(socket);
    if (before) byLastRequest.remove(before);
    else taken += descriptors;
    const connection = { socket, port, answers: 0, request: undefined, pipelined: [], isUpgraded: false };
    const entry = byLastRequest.entry(connection);
    connections.set(socket, entry);
    byLastRequest.use(entry);
    socket.off("close", forget).once("close", forget);
    while (taken > most && makeRoom());
  });
  const closeIdle = () => {
    for (const { value } of connections.values())
      if (value.port === port && value.answers === 0 && !value.isUpgraded) value.socket.destroy();
  };
  server.closeIdleConnections = closeIdle;
  return {
    closeIdle,
    /** Node's closeAllConnections() misses connections that switched protocols. */
    closeAll(): void {
      for (const [socket, at] of others) if (at === port) socket.destroy();
      for (const { value } of connections.values()) if (value.port === port) value.socket.destroy();
    },
    /**
     * Called for each new request, with its response. Returns whether the request is handled now: a connection has one
     * at a time. Otherwise `later` is called after the earlier answers. If too many wait, the connection is closed.
     */
    answering(response: ServerResponse, later: (response: ServerResponse) => unknown): boolean {
      const { req: request } = response;
      const { socket } = request;
      // The rest of what a client had sent when it was cut off.
      if (socket.destroyed) return false;
      const entry = connections.get(socket);
      if (!entry) return true;
      const connection = entry.value;
      const { pipelined: waiting } = connection;
      byLastRequest.use(entry);
      connection.answers += 1;
      connection.request = request;
      response.on("close", answered);
      if (connection.answers === 1) return true;
      if (waiting.length >= mostPipelined.ofConnection || port.pipelined >= mostPipelined.ofPort) socket.destroy();
      else {
        port.pipelined += 1;
        waiting.push(() => socket.destroyed || later(response));
      }
      return false;
    },
    /** Whether responses have not ended yet. */
    isAnswering: (socket: Socket): boolean => (connections.get(socket)?.value.answers ?? 0) > 0,
    /** The connection switches protocols. Until `keepOpen`, it counts as waiting for a request. */
    handedOver(socket: Socket): void {
      const entry = connections.get(socket);
      if (!entry) return;
      entry.value.request = undefined;
      entry.value.isUpgraded = true;
      byLastRequest.use(entry);
    },
  };
}
