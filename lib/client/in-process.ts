import type { Answer } from "../http/answer.ts";
import type { App } from "../http/app.ts";
import { ClientProblem, flatOf, problemOf } from "./problem.ts";
import { createSender, type Sender } from "./send.ts";

const never = new AbortController().signal;

/**
 * The typed client's calls without a port: straight to their operations, past routes and requests, through the same
 * checks, windows and faults. Nothing is tried again, because no connection can break by itself.
 */
export function insideSender(app: () => App, apiKey: string | undefined): Sender {
  const answered = (url: string, init: RequestInit) => app().fetch(new Request(url, init));
  const sender = createSender({ baseUrl: "http://localhost/v1", apiKey, fetch: answered, retries: 0 });
  const authorization = apiKey === undefined ? undefined : `Bearer ${apiKey}`;
  return {
    ...sender,
    async call({ id, method, path, params, query, body, headers }, { signal = never, idempotencyKey } = {}) {
      signal.throwIfAborted();
      const text = body === undefined ? undefined : JSON.stringify(body);
      const type = text === undefined ? undefined : "application/json";
      const all = { "content-type": type, "idempotency-key": idempotencyKey, authorization, ...headers };
      const called = { method, path: path.split("?", 1)[0] ?? path, params, query, body: text, headers: all, signal };
      const answer = await app()
        .call(id, called)
        .catch((cause) => {
          signal.throwIfAborted();
          throw new ClientProblem("unreachable", "the connection broke off, because a fault wanted it to", { cause });
        });
      signal.throwIfAborted();
      const said = typeof answer.body === "string" ? JSON.parse(answer.body) : undefined;
      if (answer.status >= 400) throw problemOf(refusal(answer), said);
      return flatOf(said);
    },
  };
}

const refusal = ({ status, headers, request_id }: Answer) => ({
  status,
  url: "the service",
  headers: new Headers({ ...headers, "x-request-id": request_id }),
});
