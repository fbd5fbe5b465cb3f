import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { createConnectionPool } from "../../lib/drivers/outbound/connection-pool.ts";
import { failureReason } from "../../lib/drivers/outbound/failure-reasons.ts";
import { targetOf } from "../../lib/drivers/outbound/target.ts";
import { listen } from "../../lib/http/server.ts";
import { type Clock, createClock } from "../../lib/kernel/clock.ts";
import { createIds } from "../../lib/kernel/ids.ts";
import { createChunkJoiner } from "../../lib/kernel/node/small-chunks.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import {
  forward,
  forwardUpgrade,
  isRepeatable,
  type Service,
  type Upstream,
} from "../../lib/platform/proxy/forward.ts";
import { passedHeaders } from "../../lib/platform/proxy/headers.ts";
import { longTimer } from "../timers.ts";
import type { Exchange } from "./recorder.ts";

/** The maximum size of a recorded body. Larger bodies are forwarded but not recorded. */
const maxRecorded = 8 * 1024 * 1024;
/** Twice the longest wait that a caller can request. */
const patience_ms = 120_000;

export interface RelayOptions {
  readonly upstream: string;
  readonly port: number;
  readonly host: string;
  readonly onExchange: (exchange: Exchange) => void;
  /** Tests replace the timer for overdue answers. */
  readonly afterPatience?: (run: () => void) => () => void;
}

class Late extends Error {
  readonly code = "ETIMEDOUT";
}

/** Collects a stream's bytes as they pass; undefined if there are too many. */
function watched(stream: IncomingMessage): () => Buffer | undefined {
  let chunks: Buffer[] | undefined = [];
  let size = 0;
  stream.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxRecorded) chunks = undefined;
    chunks?.push(chunk);
  });
  return () => chunks && Buffer.concat(chunks);
}

const isBelow = ({ url = "" }: IncomingMessage) => /^\/v1(?=[/?]|$)/.test(url);
const pathBelow = ({ url = "" }: IncomingMessage) => url.slice("/v1".length);

function createRefusal(clock: Clock) {
  const ids = createIds(clock, createRandom());
  return (response: ServerResponse, status: number, code: string, message: string) => {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const request_id = ids.next("req");
    const meta = { request_id, timestamp: clock.iso() };
    response.writeHead(status, {
      ...{ "content-type": "application/json", "x-request-id": request_id },
      // Otherwise the unread rest of a body would precede the next request on this connection.
      ...(!isRepeatable(response.req) && { connection: "close" }),
    });
    response.end(JSON.stringify({ error: { code, message }, meta }));
  };
}

/** How a request is sent upstream: with its own headers except Host. */
function createUpstream(upstream: string, afterPatience: NonNullable<RelayOptions["afterPatience"]>) {
  const base = new URL(upstream);
  const { host, port, secure: isSecure, authority } = targetOf(base);
  const root = base.pathname.replace(/\/$/, "");
  const pool = createConnectionPool("start", undefined);
  const joinSmallChunks = createChunkJoiner();
  const headersOf = (request: IncomingMessage): string[] => {
    const headers = ["Host", authority];
    const passed = passedHeaders(request);
    for (let i = 0; i < passed.length; i += 2)
      if (passed[i]?.toLowerCase() !== "host") headers.push(passed[i] ?? "", passed[i + 1] ?? "");
    if (request.headers["transfer-encoding"] !== undefined) headers.push("Transfer-Encoding", "chunked");
    return headers;
  };
  return {
    close: pool.close,
    of: (request: IncomingMessage, more: Pick<Service, "onAnswer" | "onFailure">): Upstream => ({
      port,
      agent: isSecure ? pool.secure().keepAlive : pool.plain,
      single: false,
      behindProxy: false,
      hidesAuthorization: false,
      joinSmallChunks,
      service: {
        host: host.replace(/^\[|\]$/g, ""),
        isSecure,
        path: root + pathBelow(request),
        headers: headersOf(request),
        timer: (late) => afterPatience(() => late(new Late())),
        ...more,
      },
    }),
  };
}

/** Listens and streams all requests below `/v1` to the upstream. The answers are returned unchanged. */
export async function openRelay({
  upstream,
  port,
  host,
  onExchange,
  afterPatience = (run) => longTimer(patience_ms, run),
}: RelayOptions) {
  const to = createUpstream(upstream, afterPatience);
  const clock = createClock("real");
  const refuse = createRefusal(clock);

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    if (!isBelow(request)) return refuse(response, 404, "not_found", "the recorder forwards only paths below /v1");
    const requestBody = watched(request);
    let failure: unknown;
    const onAnswer = (answer: IncomingMessage) => {
      const answerBody = watched(answer);
      const { "content-type": type, "content-encoding": encoding } = answer.headers;
      answer.once("end", () => {
        const bytes = answerBody();
        if (!bytes) return;
        onExchange({
          ...{ method: request.method ?? "", path: pathBelow(request) },
          ...{ caller: request.headers.authorization, request: requestBody(), status: answer.statusCode ?? 0 },
          ...{ type, encoding, answer: bytes, at: clock.now() },
        });
      });
    };
    const onFailure = (error: Error) => {
      failure = error;
    };
    const send = () => forward(request, response, to.of(request, { onAnswer, onFailure }));
    if ((await send()) === "done") return;
    // The upstream may just have closed an idle connection.
    if (isRepeatable(request) && !(failure instanceof Late) && (await send()) === "done") return;
    const reason = failure instanceof Late ? "it gave no answer within two minutes" : failureReason(failure);
    refuse(response, 502, "bad_gateway", `the upstream ${new URL(upstream).origin} cannot be reached: ${reason}`);
  };

  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!isBelow(request)) return void socket.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n");
    const quiet = to.of(request, { onAnswer: () => {}, onFailure: () => {} });
    if ((await forwardUpgrade(request, socket, head, quiet, () => {})) === "failed")
      socket.end("HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n");
  };

  const server = await listen({ handle, upgrade }, { port, host });
  return {
    url: server.url,
    async close() {
      await server.close("1s");
      to.close();
    },
  };
}
