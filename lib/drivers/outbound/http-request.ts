import {
  type Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from "node:http";
import type { RequestOptions } from "node:https";
import type { Socket } from "node:net";
import { systemTimer } from "../../kernel/clock.ts";
import { https } from "../../kernel/lazy-node-modules.ts";
import { createChunkJoiner, type JoinSmallChunks } from "../../kernel/node/small-chunks.ts";
import { sameAddress } from "../../kernel/text/ip-address.ts";
import { failureReason } from "./failure-reasons.ts";
import { excerptOf, readBody } from "./http-response.ts";
import type { Target } from "./target.ts";

const maxInterimResponses = 16;
const maxHeaderSize = 16 * 1024;
/** How long writing the request may continue after its response has ended. */
const writeTimeoutAfterResponse = "1s";

export interface HttpRequest {
  readonly method: "GET" | "HEAD" | "POST";
  readonly target: Target;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly address: string;
  readonly agent: Agent;
  readonly signal: AbortSignal;
  /** Whether errors may contain the address. */
  readonly namesAddress?: boolean;
  /** The connect timeout; undefined for the last address, which only has the request's timeout. */
  readonly connectTimeout_ms: number | undefined;
  /** The largest body that is read whole; undefined for a receiver's response, of which only an excerpt is read. */
  readonly max_bytes?: number | undefined;
}

export interface HttpResult {
  readonly status: number | null;
  readonly error: string | null;
  readonly response: string | null;
  readonly retry_after?: string | undefined;
  readonly bytes?: Buffer;
  readonly headers?: IncomingHttpHeaders;
  /** Why the body is incomplete. */
  readonly incomplete?: string | undefined;
  /** `next_address`: it made no connection. `new_connection`: the receiver had closed the idle connection. */
  readonly retry?: "next_address" | "new_connection" | undefined;
}

export const failed = (error: string, retry?: HttpResult["retry"]): HttpResult => ({
  status: null,
  error,
  response: null,
  retry,
});

/** A flat list, which Node sends unchanged: our length and host replace the caller's. */
function headersOf({ method, target, headers, body }: HttpRequest): string[] {
  const list: string[] = [];
  for (const [name, value] of Object.entries(headers))
    if (!/^(host|content-length)$/i.test(name)) list.push(name, value);
  list.push("host", target.authority);
  if (method === "POST") list.push("content-length", String(Buffer.byteLength(body)));
  return list;
}

const optionsOf = (request: HttpRequest): RequestOptions => ({
  agent: request.agent,
  maxHeaderSize,
  method: request.method,
  // The address instead of the name, so no lookup happens between the check and the connection.
  host: request.address,
  port: request.target.port,
  // TLS forbids IP addresses as server name. Node then compares the certificate with `host`.
  servername: request.target.address === undefined ? request.target.host : "",
  path: request.target.path,
  headers: headersOf(request),
});

/**
 * Connections after their handshake, and whether any response byte arrived since the last request. Node does not set
 * `reusedSocket` if a waiting request takes over a connection at once.
 */
type Handshaken = WeakMap<Socket, { responded: boolean }>;

interface Connection {
  connected: boolean;
  /** Set if an earlier request used the same connection. */
  reused: { readonly responded: boolean } | undefined;
}

/** Writes the request once the connection to the checked address is open. */
function connect(
  handshaken: Handshaken,
  sending: ClientRequest,
  request: HttpRequest,
  connection: Connection,
  fail: (result: HttpResult) => void,
): void {
  sending.on("socket", (socket) => {
    const write = () => {
      if (sameAddress(socket.remoteAddress ?? "", request.address)) sending.end(request.body);
      else fail(failed("address_not_allowed"));
    };
    const reused = handshaken.get(socket);
    if (reused) {
      reused.responded = false;
      connection.reused = reused;
      return write();
    }
    const { connectTimeout_ms } = request;
    const stopTimer =
      connectTimeout_ms === undefined
        ? () => {}
        : systemTimer(connectTimeout_ms, () => fail(failed("host unreachable", "next_address")));
    socket.once("connect", () => {
      connection.connected = true;
      stopTimer();
    });
    socket.once("close", stopTimer);
    socket.once(request.target.secure ? "secureConnect" : "connect", () => {
      const state = { responded: false };
      handshaken.set(socket, state);
      socket.on("data", () => {
        state.responded = true;
      });
      write();
    });
  });
}

/** Whether and how a request may be retried after the connection failed. */
function retryOf({ connected, reused }: Connection): HttpResult["retry"] {
  if (reused) return reused.responded ? undefined : "new_connection";
  return connected ? undefined : "next_address";
}

/** Makes the function that sends one request. It never rejects: failures are part of the result. */
export function createRequestSender(): (request: HttpRequest) => Promise<HttpResult> {
  const joinSmallChunks = createChunkJoiner();
  const handshaken: Handshaken = new WeakMap();
  return (request) => sendRequest(request, handshaken, joinSmallChunks);
}

function sendRequest(
  request: HttpRequest,
  handshaken: Handshaken,
  joinSmallChunks: JoinSmallChunks,
): Promise<HttpResult> {
  const { signal } = request;
  if (signal.aborted) return Promise.resolve(failed(String(signal.reason)));
  return new Promise((resolve) => {
    const sending = (request.target.secure ? https().request : httpRequest)(optionsOf(request));
    const connection: Connection = { connected: false, reused: undefined };
    let responded: (() => HttpResult) | undefined;
    let interimResponses = 0;
    let settled = false;

    const settle = (result: HttpResult, keepConnection = false) => {
      // A destroyed request may emit a second error when another request already uses its connection.
      if (settled) return;
      settled = true;
      signal.removeEventListener("abort", cancel);
      if (!keepConnection) sending.destroy();
      else if (!sending.writableFinished) finishWriting();
      const incomplete = keepConnection ? undefined : (result.error ?? undefined);
      resolve(responded ? { ...responded(), incomplete } : result);
    };
    const cancel = () => settle(failed(String(signal.reason)));
    /** A receiver may respond early. The connection is reusable only after the whole request is written. */
    const finishWriting = () => {
      const stopTimer = systemTimer(writeTimeoutAfterResponse, () => sending.destroy());
      sending.once("finish", stopTimer).once("close", stopTimer);
    };
    const receive = (response: IncomingMessage) => {
      joinSmallChunks(response);
      const status = response.statusCode ?? 0;
      if (status < 100) return settle(failed("not an HTTP answer"));
      const bytesSoFar = readBody(response, request.max_bytes, (incomplete) =>
        settle(failed(incomplete ?? ""), incomplete === undefined),
      );
      const retry_after = response.headers["retry-after"];
      responded = () => {
        const bytes = bytesSoFar();
        return { status, error: null, response: excerptOf(bytes), retry_after, bytes, headers: response.headers };
      };
    };

    signal.addEventListener("abort", cancel);
    connect(handshaken, sending, request, connection, settle);
    sending.on("response", receive);
    // No request asks for an upgrade, so a 101 counts as a plain response.
    sending.on("upgrade", (response, socket) => {
      receive(response);
      socket.destroy();
      settle(failed("connection reset"));
    });
    sending.on("information", () => {
      interimResponses += 1;
      if (interimResponses > maxInterimResponses) settle(failed("too many interim answers"));
    });
    const { namesAddress, address, target } = request;
    const where = namesAddress ? `${address.includes(":") ? `[${address}]` : address}:${target.port}` : undefined;
    sending.on("error", (error) => settle(failed(failureReason(error, where), retryOf(connection))));
  });
}
