import type { Answer } from "../http/answer.ts";
import type { Authentication, Authenticator } from "../http/authenticate.ts";
import type { RequestContext } from "../http/request-context.ts";
import { type Route, unnamed } from "../http/route.ts";
import { Problem } from "../kernel/errors.ts";

const realm = 'Basic realm="any user name, and an API key as the password", charset="UTF-8"';

/** A plain-text response, because git shows the text of a refusal to its user. */
const plain = (
  status: number,
  text: string,
  request_id: string,
  headers: Readonly<Record<string, string>> = {},
): Answer => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", ...headers },
  body: `${text}\n`,
  request_id,
});

const passwordOf = (authorization: string | undefined): string => {
  const [, given = ""] = /^Basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization ?? "") ?? [];
  const text = Buffer.from(given, "base64").toString("utf8");
  return text.slice(text.indexOf(":") + 1);
};

function refusalOf({ code, status, message, headers }: Problem, request_id: string): Answer {
  if (code !== "unauthorized") return plain(status, message, request_id, headers);
  const text = "send an API key as the password, with any user name: it is missing, wrong, revoked or expired";
  return plain(status, text, request_id, { "www-authenticate": realm });
}

type Serve = (request: RequestContext, authentication: Authentication) => Promise<Answer>;

interface Ports {
  readonly authenticator: Pick<Authenticator, "byLateKey">;
  /** Undefined if no runtime is on. */
  readonly serve: Serve | undefined;
  /** A sentence that names another server of the service with a runtime, if there is one. */
  readonly elsewhere: () => string | undefined;
}

/** The route of the service's own git repositories: smart HTTP with an API key as the password. */
export function gitRoute({ authenticator, serve, elsewhere }: Ports): Route {
  const refusals = new WeakMap<Authentication, Problem>();

  const access: Route["access"] = async (request) => {
    const authentication = await authenticator.byLateKey(request, passwordOf(request.header("authorization")));
    const accepted = { ...authentication, refusal: undefined };
    if (authentication.refusal) refusals.set(accepted, authentication.refusal);
    return accepted;
  };

  const answer: Route["answer"] = async (request, authentication) => {
    try {
      const refusal = refusals.get(authentication);
      if (refusal) throw refusal;
      if (serve) return await serve(request, authentication);
      const place = elsewhere();
      if (place !== undefined) throw new Problem("misdirected_request", place);
      throw new Problem("not_found", "this service hosts no repositories: it has no runtime (option --runtime)");
    } catch (error) {
      if (error instanceof Problem) return refusalOf(error, request.id);
      throw error;
    }
  };

  return { method: "*", path: "/git/**", name: unnamed, access, answer };
}
