import { FastResponse } from "srvx";
import type { Answer, Writer } from "./answer.ts";
import type { Ports } from "./app.ts";
import { failed } from "./error-answer.ts";
import type { RequestContext } from "./request-context.ts";

/** What befalls one exchange instead of its usual course, because a tester asked for it. */
export interface Fault {
  /** Resolves when the exchange may go on; sooner where the signal says that nobody waits for it any more. */
  wait(signal: AbortSignal): Promise<void>;
  /** Given instead of the usual answer; without it the interface does its work and answers. */
  readonly error: { readonly status: number; readonly code: string; readonly message: string } | undefined;
  /** Put over those of the answer, whichever it is. */
  readonly headers: Readonly<Record<string, string>>;
  /** `drop`: the connection breaks before anything is done. `truncate`: in the middle of the answer's body. */
  readonly breaks: "drop" | "truncate" | undefined;
}

/** The fault that an exchange meets; undefined for nearly all of them. */
export type Faults = (exchange: Pick<RequestContext, "method" | "path">) => Fault | undefined;

/**
 * What is answered under a fault, which shows the address's bucket without counting. `usual` is the course that the
 * exchange would have taken.
 */
export async function underFault(
  ports: Pick<Ports, "gate" | "log" | "closing">,
  writer: Writer,
  exchange: RequestContext,
  fault: Fault,
  usual: () => Promise<Answer>,
): Promise<Answer> {
  ports.gate.look(exchange);
  const signal = exchange.asker();
  await fault.wait(signal);
  // Whoever has left meanwhile has broken the connection.
  if (signal.aborted) exchange.fault = { ...fault, breaks: "drop" };
  if (exchange.fault?.breaks === "drop") {
    return { status: 503, headers: {}, body: null, request_id: exchange.id };
  }
  const { error } = fault;
  if (error) return writer.problem({ ...error, details: undefined, headers: {} }, exchange.id);
  return usual().catch((thrown) => failed(ports, thrown, exchange, writer));
}

const othersEnd = () => new TypeError("fetch failed", { cause: new Error("other side closed") });

/** The answer to a call without a request, as the fault lets it arrive; throws what a broken connection would have thrown. */
export function arriving(answer: Answer, { fault }: RequestContext): Answer {
  if (!fault) return answer;
  if (fault.breaks) throw othersEnd();
  return { ...answer, headers: { ...answer.headers, ...fault.headers } };
}

/** What `fetch` in process rejects with, instead of answering these. */
const failures = new WeakMap<Response, unknown>();
export const failureOf = (response: Response): unknown => failures.get(response);

/** The answer as the fault lets it arrive. */
export function spoilt(
  response: Response,
  body: Answer["body"],
  { breaks }: Fault,
  { asker, socket, method }: RequestContext,
): Response {
  const signal = asker();
  const halves = breaks === "truncate" && typeof body === "string";
  // HEAD has no body to break off.
  if ((!breaks || (halves && method === "HEAD")) && !signal.aborted) return response;
  const cause = new Error("other side closed");
  if (halves) return halved(response, Buffer.from(body), cause, socket);
  // Nobody will ever read it, so what feeds it must not wait for that.
  if (body instanceof ReadableStream) void body.cancel();
  failures.set(response, signal.aborted ? signal.reason : new TypeError("fetch failed", { cause }));
  socket?.destroy();
  return response;
}

/** The headers of the whole, and half of the body. */
function halved(
  { status, statusText, headers }: Response,
  whole: Buffer,
  cause: Error,
  from: RequestContext["socket"],
): Response {
  headers.set("content-length", String(whole.length));
  let sent = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (sent) {
          // An empty write is through once everything before it is.
          if (from) await new Promise((through) => from.socket.write("", through));
          return controller.error(new TypeError("terminated", { cause }));
        }
        controller.enqueue(whole.subarray(0, whole.length / 2));
        sent = true;
      },
    },
    { highWaterMark: 0 },
  );
  return new FastResponse(body, { status, statusText, headers });
}
