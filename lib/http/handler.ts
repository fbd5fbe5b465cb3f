import { Problem } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Answer, Writer } from "./answer.ts";
import { type Authentication, type Authenticator, unauthenticated } from "./authenticate.ts";
import type { Window } from "./rate-limit.ts";
import { isVersioned, type RequestContext } from "./request-context.ts";
import type { Route } from "./route.ts";

/** The answer to a request, with data for its headers and the log. */
export interface Outcome {
  readonly answer: Answer;
  /** The window for the rate-limit headers; undefined if there are none. */
  readonly window: Window | undefined;
  /** The id of the API key; null if the key is unknown. */
  readonly key_id: string | null;
  readonly caller: Authentication["caller"];
}

/** Answers a routed request. If it rejects, the connection is cut without an answer. */
export type Handler = (request: RequestContext, route: Route) => Promise<Outcome>;

interface Ports {
  readonly authenticator: Pick<Authenticator, "look">;
  readonly writer: Writer;
  readonly log: Log;
  /** Aborted with a Problem when the service shuts down or its state is replaced: from then on, requests get 503. */
  readonly closing: AbortSignal;
  /** Throws 421 for an unknown host. Not called in process, where there is no `Host`. */
  readonly checkHost: (host: string | undefined) => void;
}

export type RunningRequests = ReturnType<typeof createRunningRequests>;

/** Tracks running requests, so that closing waits for all, even for slow ones on a remote database. */
export function createRunningRequests() {
  const running = new Set<Promise<Outcome>>();
  return {
    counted:
      (handler: Handler): Handler =>
      (request, route) => {
        const outcome = handler(request, route);
        running.add(outcome);
        return outcome.finally(() => running.delete(outcome));
      },
    async ended(): Promise<void> {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

/** Checks in this order: 421, 503 during a shutdown, 401 or 429, then the rules of the route. Never rejects. */
export function createHandler({ authenticator, writer, log, closing, checkHost }: Ports): Handler {
  const problemOf = (error: unknown, { id: request_id, method, path }: RequestContext): Problem => {
    if (error instanceof Problem) {
      if (error.cause && !error.isLogged) log.error(error.message, { request_id, reason: reasonOf(error.cause) });
      return error;
    }
    log.error("a request failed unexpectedly", { request_id, method, path, reason: reasonOf(error) });
    // During shutdown, the store may already be closed.
    if (closing.aborted) return closing.reason;
    return new Problem("internal_error", "the service failed; quote the request id when you ask for support");
  };

  return async (request, route) => {
    let authentication: Authentication = unauthenticated;
    try {
      if (request.incoming) checkHost(request.header("host"));
      if (closing.aborted && !route.outlivesShutdown) throw closing.reason;
      authentication = await route.access(request);
      if (authentication.refusal) throw authentication.refusal;
      const answer = await route.answer(request, authentication);
      const { window, key_id, caller } = authentication;
      return { answer, window, key_id, caller };
    } catch (error) {
      // If the request was refused before it was counted, show the window of its address.
      const window = authentication.window ?? (isVersioned(request) ? authenticator.look(request) : undefined);
      const answer = writer.problem(problemOf(error, request), request.id);
      return { answer, window, key_id: authentication.key_id, caller: authentication.caller };
    }
  };
}
