import { withCauses } from "../../kernel/causes.ts";
import { untilAborted } from "../../kernel/node/abort.ts";
import { AbortController, fetchClasses } from "../../kernel/node/web.ts";
import type { BackendRequest, BackendResponse } from "./backend-request.ts";
import { excerptOf, maxRead, parseRetryAfter } from "./http-response.ts";
import type { OutboundRequest, Sent } from "./outbound.ts";
import { createRequestsInFlight, requestTimeout_ms, timeoutError } from "./request-timeout.ts";

/** Answers requests in the process, like fetch: a receiver for tests, without a socket. */
export type Sink = (request: Request) => Response | Promise<Response>;

/** The first `max_bytes` of a body, and whether the body is complete. */
async function readUpTo(response: Response, max_bytes: number): Promise<{ bytes: Buffer; whole: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next && !next.done && size <= max_bytes; next = await reader?.read()) {
    chunks.push(next.value);
    size += next.value.length;
  }
  await reader?.cancel();
  return { bytes: Buffer.concat(chunks).subarray(0, max_bytes), whole: size <= max_bytes };
}

const reasonOf = (error: unknown) => withCauses(error instanceof Error ? error.message : String(error), error);

/** Sends requests to a function instead of a socket. Time and size limits are the same; redirects are not followed. */
export function createFunctionTransport(now: () => string) {
  const requests = createRequestsInFlight();
  let closed = false;

  const call = async <T>(
    sink: Sink,
    { method, url, headers, body, signal }: Pick<BackendRequest, "method" | "url" | "headers" | "body" | "signal">,
    timeout_ms: number,
    read: (response: Response, retry_after_ms: number | undefined) => Promise<T>,
  ): Promise<T> => {
    if (closed) throw new Error("shutting down");
    const { signal: ended, finish } = requests.start(timeout_ms, signal);
    const abort = new AbortController();
    ended.addEventListener("abort", () => abort.abort());
    const respond = async () => {
      const init = { method, headers, body: body ?? null, redirect: "manual", signal: abort.signal } as const;
      const response = await sink(new (fetchClasses().Request)(url, init));
      // A user's function may return anything; Response.error() has the status 0.
      if (!response?.status || !response.headers) throw new TypeError("the function must answer a Response");
      const header = response.headers.get("retry-after") ?? undefined;
      return read(response, parseRetryAfter(header, Date.parse(now())));
    };
    return untilAborted(ended, respond).finally(finish);
  };

  return {
    async send(sink: Sink, request: OutboundRequest): Promise<Sent> {
      const started = Date.parse(now());
      const post = { method: "POST", ...request } as const;
      const sent = await call(sink, post, requestTimeout_ms, async (response, retry_after_ms) => {
        const { bytes } = await readUpTo(response, maxRead);
        return { status: response.status, error: null, retry_after_ms, response: excerptOf(bytes) };
      }).catch((error) => ({ status: null, error: reasonOf(error), response: null }));
      // A stopped manual clock does not show how long the function took.
      const least = sent.error === timeoutError(requestTimeout_ms) ? requestTimeout_ms : 0;
      return { ...sent, duration_ms: Math.max(least, Date.parse(now()) - started) };
    },

    callBackend: (sink: Sink, request: BackendRequest): Promise<BackendResponse> =>
      call(sink, request, request.timeout_ms, async (response, retry_after_ms) => {
        const { bytes, whole } = await readUpTo(response, request.max_bytes);
        const error = whole ? null : `over ${request.max_bytes} bytes`;
        return { status: response.status, error, bytes, retry_after_ms };
      }).catch((error) => ({
        status: null,
        error: reasonOf(error),
        bytes: Buffer.alloc(0),
        retry_after_ms: undefined,
      })),

    /** Aborts the requests in flight and refuses later ones. */
    close() {
      closed = true;
      requests.abortAll("shutting down");
    },
  };
}
