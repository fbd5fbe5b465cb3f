import { parseUrl } from "../kernel/text/url.ts";
import { unauthenticated } from "./authenticate.ts";
import type { Handler, Outcome } from "./handler.ts";
import { isLoopbackName } from "./hosts.ts";
import type { Window } from "./rate-limit.ts";
import { isVersioned, type RequestContext } from "./request-context.ts";
import { type Route, unnamed } from "./route.ts";

/** Whether pages of this origin may use `/v1`. */
export type AllowsOrigin = (origin: string) => boolean;

/** Allows every origin on this machine, on any port. */
export const allowsLoopback: AllowsOrigin = (origin) => {
  const url = parseUrl(origin);
  return url?.origin === origin && (isLoopbackName(url.hostname) || url.hostname.endsWith(".localhost"));
};

export const allowsNone: AllowsOrigin = () => false;

/** Allows these origins, or all origins if one entry is `*`. */
export const allowsListed = (origins: readonly string[]): AllowsOrigin =>
  origins.includes("*") ? () => true : (origin) => origins.includes(origin);

const exposed =
  "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, Location, Idempotent-Replayed";

/** For a preflight that names no headers. Browsers name all headers that the request will have. */
const usualHeaders = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id";

interface Ports {
  readonly allowsOrigin: AllowsOrigin;
  /** The path of asset links: pages also read images and films. */
  readonly assetsPath: string;
  /** The handler for preflights, which are exempt from faults. */
  readonly usual: Handler;
  readonly look: (request: RequestContext) => Window;
}

/**
 * Lets pages of allowed origins read responses under `/v1` and of asset links (schema/http.md#browsers). Wraps all
 * other handlers, because a browser hides any response, even an error, without these headers.
 */
export function withCors(handler: Handler, { allowsOrigin, assetsPath, usual, look }: Ports): Handler {
  const preflight: Route = {
    method: "*",
    path: "/**",
    name: unnamed,
    access: (request) => ({ ...unauthenticated, window: isVersioned(request) ? look(request) : undefined }),
    answer: ({ header, id: request_id }) => ({
      status: 204,
      headers: {
        "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers": header("access-control-request-headers") ?? usualHeaders,
        "access-control-max-age": "600",
      },
      body: null,
      request_id,
    }),
  };

  const forPage = async (request: RequestContext, route: Route, origin: string) => {
    const isPreflight = request.method === "OPTIONS" && request.header("access-control-request-method") !== undefined;
    const outcome = await (isPreflight ? usual(request, preflight) : handler(request, route));
    return withHeaders(outcome, {
      "access-control-allow-origin": origin,
      "access-control-expose-headers": exposed,
      vary: "Origin",
    });
  };

  return (request, route) => {
    const isAsset = request.path.startsWith(assetsPath);
    if (!isAsset && !isVersioned(request)) return handler(request, route);
    const origin = request.header("origin");
    if (origin !== undefined && allowsOrigin(origin)) return forPage(request, route, origin);
    // Browsers cache files. A copy fetched without an origin must not serve a page that needs these headers.
    const outcome = handler(request, route);
    return isAsset ? outcome.then((answered) => withHeaders(answered, { vary: "Origin" })) : outcome;
  };
}

const withHeaders = ({ answer, ...outcome }: Outcome, headers: Readonly<Record<string, string>>): Outcome => ({
  ...outcome,
  // Headers of a fault take precedence, so that testers can try a wrong `Vary` or `Access-Control-Allow-Origin`.
  answer: { ...answer, headers: { ...headers, ...answer.headers } },
});
