import type { Answer, Writer } from "../../http/answer.ts";
import { type Authentication, unauthenticated } from "../../http/authenticate.ts";
import type { Handler, Outcome } from "../../http/handler.ts";
import type { Window } from "../../http/rate-limit.ts";
import { isVersioned, type RequestContext } from "../../http/request-context.ts";
import type { Route } from "../../http/route.ts";
import { headersOf, pairsOf, stamped } from "../../http/send.ts";
import { createReadableStream, isStream } from "../../kernel/node/web.ts";
import type { Fault, Faults } from "./faults.ts";

interface Ports {
  readonly faults: Pick<Faults, "meet" | "isEmpty">;
  readonly writer: Writer;
  /** Whether the service accepts a `Host`. Requests to other hosts get a 421 and no fault. */
  readonly knowsHost: (host: string | undefined) => boolean;
  /** Reads the rate-limit window of the address without counting the request. */
  readonly look: (request: RequestContext) => Window;
  readonly logged: (handler: Handler) => Handler;
}

/** Applies a tester's faults below `/v1` (schema/testing.md#faults). They count in the caller's own window. */
export function withFaults(handler: Handler, { faults, writer, knowsHost, look, logged }: Ports): Handler {
  const usual = logged(handler);

  const underFault = async (fault: Fault, request: RequestContext, route: Route): Promise<Outcome> => {
    const signal = request.signal();
    const answered = logged(async () => {
      await fault.wait(signal);
      if (fault.breaks === "drop" || signal.aborted) throw broken(request, signal);
      if (!fault.error) return handler(request, route);
      const { window = look(request), key_id, caller } = await counted(request, route);
      const answer = writer.problem({ ...fault.error, details: undefined, headers: {} }, request.id);
      return { answer, window, key_id, caller };
    });
    const outcome = overridden(await answered(request, route), request, fault.headers);
    if (fault.breaks === "truncate") return truncated(outcome, request, route, signal);
    if (signal.aborted) throw broken(request, signal, outcome.answer);
    return outcome;
  };

  return (request, route) => {
    if (faults.isEmpty() || !isVersioned(request)) return usual(request, route);
    const isHere = !request.incoming || knowsHost(request.header("host"));
    const fault = isHere ? faults.meet(request) : undefined;
    return fault ? underFault(fault, request, route) : usual(request, route);
  };
}

/** Counts a request as its route would. If the route refuses the request, the response shows the address's window. */
const counted = async (
  request: RequestContext,
  { access }: Route,
): Promise<Pick<Authentication, "window" | "key_id" | "caller">> => {
  try {
    return await access(request);
  } catch {
    return unauthenticated;
  }
};

/** Merges the fault's headers over all others. Those of the rate limit become ordinary headers first. */
function overridden(outcome: Outcome, { method }: RequestContext, headers: Fault["headers"]): Outcome {
  const usual = outcome.answer.takeOver ? stamped(outcome) : headersOf(outcome, method);
  const { "x-request-id": _, ...all } = Object.fromEntries(pairsOf(usual));
  return { ...outcome, answer: { ...outcome.answer, headers: { ...all, ...headers } }, window: undefined };
}

/** Breaks the connection and returns the error that `fetch` in process rejects with. */
function broken({ incoming }: RequestContext, signal: AbortSignal, answer?: Answer): unknown {
  // Nobody will read this stream, so its source must not wait for a reader.
  if (answer && isStream(answer.body)) void answer.body.cancel();
  incoming?.socket.destroy();
  return signal.aborted ? signal.reason : new TypeError("fetch failed", { cause: otherSideClosed() });
}

/** The error of Node's `fetch` for a connection that the server has cut. */
const otherSideClosed = () =>
  Object.assign(new Error("other side closed"), { name: "SocketError", code: "UND_ERR_SOCKET" });

/** A response that breaks off after half of its body. An upgrade breaks off right after its 101. */
function truncated(outcome: Outcome, request: RequestContext, route: Route, signal: AbortSignal): Outcome {
  const { answer } = outcome;
  const { takeOver, body } = answer;
  if (takeOver) {
    const breakOff: typeof takeOver = (socket, head, headers) => {
      takeOver(socket, head, headers);
      socket.destroy();
    };
    return { ...outcome, answer: { ...answer, takeOver: breakOff } };
  }
  if (typeof body !== "string" || route.method === "UPGRADE") throw broken(request, signal, answer);
  // HEAD has no body to break off.
  if (request.method === "HEAD") return outcome;
  const bytes = Buffer.from(body);
  return { ...outcome, answer: { ...answer, body: half(bytes, request) } };
}

/** Half of a body, then an error. */
function half(bytes: Buffer, { incoming }: RequestContext): ReadableStream<Uint8Array> {
  let isSent = false;
  return createReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (isSent) {
          // An empty write completes after all writes before it.
          if (incoming) await new Promise((done) => incoming.socket.write("", done));
          return controller.error(new TypeError("terminated", { cause: otherSideClosed() }));
        }
        controller.enqueue(bytes.subarray(0, bytes.length / 2));
        isSent = true;
      },
    },
    { highWaterMark: 0 },
  );
}
