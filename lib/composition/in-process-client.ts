import { ClientProblem, flatOf, incomplete, problemOf } from "../client/problem.ts";
import { createSender, type Sender } from "../client/send.ts";
import type { Answer } from "../http/answer.ts";
import type { App } from "../http/app.ts";
import { whole } from "../http/send.ts";
import type { Clock } from "../kernel/clock.ts";
import { fetchClasses, isStream } from "../kernel/node/web.ts";

/**
 * Sends the typed client's calls without a port: directly to their operations, without routes or requests, but with the
 * same checks, rate limits and faults. It never retries, because only an injected fault can break a call.
 */
export function inProcessSender(
  app: () => App,
  clock: () => Clock,
  counted: <T>(call: Promise<T>) => Promise<T>,
  apiKey: string | undefined,
): Sender {
  const fetchInProcess = (url: string, init: RequestInit) =>
    counted(app().fetch(new (fetchClasses().Request)(url, init)));
  const sender = createSender({ baseUrl: "http://localhost/v1", apiKey, fetch: fetchInProcess, retries: 0 });
  const authorization = apiKey === undefined ? undefined : `Bearer ${apiKey}`;
  return {
    ...sender,
    isClockManual: () => clock().mode === "manual",
    async call({ id, method, path, params, query, body, headers }, { signal, idempotencyKey } = {}) {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const type = text === undefined ? undefined : "application/json";
      const all = { "content-type": type, "idempotency-key": idempotencyKey, authorization, ...headers };
      const called = { method, path: path.split("?", 1)[0] ?? path, params, query, body: text, headers: all, signal };
      const broken = (problem: (cause: unknown) => ClientProblem) => (cause: unknown) => {
        signal?.throwIfAborted();
        throw problem(cause);
      };
      const unreachable = "the connection was broken by a fault";
      const begun = await counted(app().call(id, called)).catch(
        broken((cause) => new ClientProblem("unreachable", unreachable, { cause })),
      );
      const answer = isStream(begun.body)
        ? await whole(begun, begun.body).catch(broken((cause) => incomplete(headOf(begun), cause)))
        : begun;
      signal?.throwIfAborted();
      const parsed = typeof answer.body === "string" ? JSON.parse(answer.body) : undefined;
      if (answer.status >= 400) throw problemOf(headOf(answer), parsed);
      return flatOf(parsed);
    },
  };
}

const headOf = ({ status, headers, request_id }: Answer) => ({
  status,
  url: "the service",
  headers: new (fetchClasses().Headers)({ ...headers, "x-request-id": request_id }),
});
