import { milliseconds } from "../../kernel/duration.ts";
import type { BackendAnswer, BackendRequest } from "./backend-request.ts";
import { retryAfter } from "./http-request.ts";
import type { OutboundRequest, Sent } from "./outbound.ts";
import { createRunning, timeoutAfter } from "./request-timeout.ts";

/** Answers in the process, as fetch does: a test's receiver, without a socket. */
export type Sink = (request: Request) => Response | Promise<Response>;

/** How much of a receiver's answer is read, and how much of it is kept with a try. */
const read = 64 * 1024;
const kept = 1024;
const limit = milliseconds("10s");

/** An answer up to `most` bytes, and whether that is all of it. */
async function beginning(response: Response, most: number): Promise<{ bytes: Buffer; whole: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done && size <= most; part = await reader?.read()) {
    chunks.push(part.value);
    size += part.value.length;
  }
  await reader?.cancel();
  return { bytes: Buffer.concat(chunks).subarray(0, most), whole: size <= most };
}

const textOf = (bytes: Buffer) =>
  bytes.subarray(0, kept).toString("utf8").replaceAll("\u0000", "\ufffd").toWellFormed();
const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** What goes out through a function instead of a socket, with the same limits of time and size, and no redirects. */
export function createFunctions(now: () => string) {
  const running = createRunning();
  let closed = false;

  const answered = async <T>(
    sink: Sink,
    { method, url, headers, body, signal }: Pick<BackendRequest, "method" | "url" | "headers" | "body" | "signal">,
    most_ms: number,
    take: (response: Response, retry_after_ms: number | undefined) => Promise<T>,
  ): Promise<T> => {
    if (closed) throw new Error("shutting down");
    const { cut, over } = running.begin(most_ms, signal);
    const abort = new AbortController();
    const late = new Promise<never>((_, reject) => {
      const end = () => {
        reject(cut.reason);
        abort.abort();
      };
      cut.ends(end);
      if (cut.done) end();
    });
    const answer = async () => {
      const given = { method, headers, body: body ?? null, redirect: "manual", signal: abort.signal } as const;
      const response = await sink(new Request(url, given));
      // Of JavaScript anything may come; Response.error() has the status 0.
      if (!response?.status || !response.headers) throw new TypeError("the function must answer a Response");
      const asked = response.headers.get("retry-after") ?? undefined;
      return take(response, retryAfter(asked, Date.parse(now())));
    };
    return Promise.race([answer(), late]).finally(over);
  };

  return {
    async send(sink: Sink, request: OutboundRequest): Promise<Sent> {
      const begun = Date.parse(now());
      const sent = await answered(sink, { method: "POST", ...request }, limit, async (response, retry_after_ms) => ({
        ...{ status: response.status, error: null, retry_after_ms },
        response: textOf((await beginning(response, read)).bytes),
      })).catch((error) => ({ status: null, error: reasonOf(error), response: null }));
      // A clock that stands does not show how long a function was waited for.
      const least = sent.error === timeoutAfter(limit) ? limit : 0;
      return { ...sent, duration_ms: Math.max(least, Date.parse(now()) - begun) };
    },

    /** The same for a backend, whose answer is wanted whole. */
    ask: (sink: Sink, question: BackendRequest): Promise<BackendAnswer> =>
      answered(sink, question, question.timeout_ms, async (response, retry_after_ms) => {
        const { bytes, whole } = await beginning(response, question.most);
        const error = whole ? null : `over ${question.most} bytes`;
        return { status: response.status, error, bytes, retry_after_ms };
      }).catch((error) => ({
        ...{ status: null, error: reasonOf(error), bytes: Buffer.alloc(0), retry_after_ms: undefined },
      })),

    /** Cuts off what is under way, and refuses what comes later. */
    close() {
      closed = true;
      running.cut("shutting down");
    },
  };
}
