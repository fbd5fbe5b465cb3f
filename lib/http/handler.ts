import { Problem } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Answer, Writer } from "./answer.ts";
import { type Authentication, type Authenticator, unauthenticated } from "./authenticate.ts";
import type { Window } from "./rate-limit.ts";
import { isVersioned, type RequestContext } from "./request-context.ts";
import type { Route } from "./route.ts";

/** The answer to a request, and the data for its headers and the log. */
export interface Outcome {
  readonly answer: Answer;
  /** The window of the rate-limit headers; undefined if the answer has none. */
  readonly window: Window | undefined;
  /** Null if the key is unknown. */
  readonly key_id: string | null;
}

/** Answers a routed request. Rejects if the connection breaks off instead. */
export type Handler = (request: RequestContext, route: Route) => Promise<Outcome>;

interface Ports {
  readonly authenticator: Pick<Authenticator, "look">;
  readonly writer: Writer;
  readonly log: Log;
  /** Aborted, with a Problem, when the service shuts down or its state is replaced: 503 from then on. */
  readonly closing: AbortSignal;
  /** Throws 421. Calls in process have no `Host` and skip it. */
  readonly checkHost: (host: string | undefined) => void;
}

/** Adds each request to a set while it runs, for a close that waits for them: a database elsewhere answers later. */
export const listed =
  (handler: Handler, running: Set<Promise<unknown>>): Handler =>
  (request, route) => {
    const outcome = handler(request, route);
    running.add(outcome);
    return outcome.finally(() => running.delete(outcome));
  };

/** The order of checks: 421, 401 or 429, then those of the route. Its promise never rejects. */
export function createHandler({ authenticator, writer, log, closing, checkHost }: Ports): Handler {
  const problemOf = (error: unknown, { id: request_id, method, path }: RequestContext): Problem => {
    if (error instanceof Problem) {
      if (error.cause && !error.isLogged) log.error(error.message, { request_id, reason: reasonOf(error.cause) });
      return error;
    }
    log.error("a request failed unexpectedly", { request_id, method, path, reason: reasonOf(error) });
    // A request that outlives its service finds the store closed.
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
      return { answer, window: authentication.window, key_id: authentication.key_id };
    } catch (error) {
      // A request that was refused before counting shows the window of its address.
      const window = authentication.window ?? (isVersioned(request) ? authenticator.look(request) : undefined);
      const answer = writer.problem(problemOf(error, request), request.id);
      return { answer, window, key_id: authentication.key_id };
    }
  };
}
