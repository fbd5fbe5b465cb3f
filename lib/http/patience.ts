import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { monotonicNow, systemTimer } from "../kernel/clock.ts";

/** How long, in milliseconds, the head of a request may take to arrive, and then its body. */
const most = { head: 10_000, body: 30_000 };

/** A connection, and what arrives on it. */
interface Arriving {
  /** Whether no request ever came. */
  isSilent: boolean;
  /** The request whose head has come, until it is seen to be whole. */
  request: IncomingMessage | undefined;
  /** The answers that were not yet seen to be given. */
  replies: readonly ServerResponse[];
  /** How many bytes had come with the last request. */
  bytes: number | undefined;
  /** Since when something is on its way; undefined where nothing is known to be. */
  since: number | undefined;
}

export type Patience = ReturnType<typeof createPatience>;

/**
 * Refuses requests that take too long to arrive, with the 408 that Node would give. Node looks for them every second for
 * as long as it listens, and this only while somebody is connected, so that a service with nothing to do sleeps.
 */
export function createPatience({ now = monotonicNow, timer = systemTimer } = {}) {
  const open = new Map<Socket, Arriving>();
  let isLooking = false;
  const look = () => {
    const at = now();
    for (const [socket, arriving] of open) {
      if (!isLate(socket, arriving, at)) continue;
      open.delete(socket);
      refuse(socket, arriving);
    }
    isLooking = open.size > 0;
    if (isLooking) timer("1s", look);
  };
  return {
    /** A connection was made, or begins anew with another protocol. Its first request begins with it. */
    connected(socket: Socket): void {
      open.set(socket, { isSilent: true, request: undefined, replies: [], bytes: undefined, since: now() });
      if (!isLooking) timer("1s", look);
      isLooking = true;
    },
    /** The head of a request has come. */
    asked(request: IncomingMessage, reply: ServerResponse): void {
      const arriving = open.get(request.socket);
      if (!arriving) return;
      arriving.isSilent = false;
      arriving.request = request;
      arriving.replies = [...unfinished(arriving), reply];
      arriving.bytes = request.socket.bytesRead;
      arriving.since = undefined;
    },
    /** The connection is closed, or somebody else's. */
    left(socket: Socket): void {
      open.delete(socket);
    },
    /** Connections that never sent a request, such as a browser's that connected ahead. */
    silent: (): Socket[] => [...open].flatMap(([socket, { isSilent }]) => (isSilent ? [socket] : [])),
    /** Connections on which nothing is on its way, neither in nor out. */
    idle: (): Socket[] =>
      [...open].flatMap(([socket, arriving]) =>
        !arriving.isSilent && isQuiet(socket, arriving) && arriving.replies.length === 0 ? [socket] : [],
      ),
  };
}

const unfinished = ({ replies }: Arriving) => replies.filter(({ writableFinished }) => !writableFinished);

/** An empty line behind a request is none: RFC 9112, section 2.2. */
const blank = 2;

/**
 * Whether no request is on its way. Node does not tell when one begins on a connection that had others before, so bytes that
 * have come since then do.
 */
function isQuiet(socket: Socket, arriving: Arriving): boolean {
  arriving.replies = unfinished(arriving);
  if (arriving.request?.complete) {
    // Without a body it came with its head, and whatever has come since then is the next one.
    if (hasBody(arriving.request)) arriving.bytes = socket.bytesRead;
    Object.assign(arriving, { request: undefined, since: undefined });
  }
  const { request, bytes } = arriving;
  return !request && bytes !== undefined && socket.bytesRead <= bytes + blank;
}

/** Whether it takes too long. A body that nobody reads yet, as under a fault that delays its request, has its time to come. */
function isLate(socket: Socket, arriving: Arriving, at: number): boolean {
  if (isQuiet(socket, arriving) || arriving.request?.readableFlowing === null) return false;
  arriving.since ??= at;
  return at - arriving.since > (arriving.request ? most.body : most.head);
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? "0") > 0;

/** Said only where no other answer is on its way. */
function refuse(socket: Socket, { replies }: Arriving): void {
  if (!replies.some(({ headersSent }) => headersSent))
    socket.write("HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n");
  socket.destroySoon();
}
