import { Problem } from "../kernel/errors.ts";
import { reasonOf } from "../kernel/log.ts";
import type { Answer, Writer } from "./answer.ts";
import type { Ports } from "./app.ts";
import { shuttingDown } from "./cancellation.ts";
import { isVersioned, type RequestContext } from "./request-context.ts";

/** What is answered where something was thrown. Nobody but the log is told the reason of what nobody expected. */
export function failed(
  { gate, log, closing }: Pick<Ports, "gate" | "log" | "closing">,
  error: unknown,
  exchange: RequestContext,
  writer: Writer,
): Answer {
  // What is refused before anybody is known shows the address's bucket, without counting.
  if (exchange.window === undefined && isVersioned(exchange)) gate.look(exchange);
  const { id: request_id, method, path } = exchange;
  if (error instanceof Problem) {
    if (error.cause) log.error(error.message, { request_id, reason: reasonOf(error.cause) });
    return writer.problem(error, request_id);
  }
  log.error("a request failed unexpectedly", { request_id, method, path, reason: reasonOf(error) });
  // What goes on for longer than its service, which waits for nobody in process, finds the store closed.
  if (closing.aborted) return writer.problem(shuttingDown(), request_id);
  const message = "the service failed; quote the request id when asking for support";
  return writer.problem(new Problem("internal_error", message), request_id);
}
