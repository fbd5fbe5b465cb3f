import { unauthenticated } from "./authenticate.ts";
import type { Handler, Outcome } from "./handler.ts";
import { isLoopbackName } from "./hosts.ts";
import type { Window } from "./rate-limit.ts";
import { isVersioned, type RequestContext } from "./request-context.ts";
import { type Route, unnamed } from "./route-table.ts";

/** Whether pages of this origin may read answers. */
export type AllowsOrigin = (origin: string) => boolean;

/** Every origin of this machine, on any port. */
export const allowsLoopback: AllowsOrigin = (origin) => {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  return url?.origin === origin && (isLoopbackName(url.hostname) || url.hostname.endsWith(".localhost"));
};

/** These origins, or all of them where one entry is `*`. */
export const allowsListed = (origins: readonly string[]): AllowsOrigin =>
  origins.includes("*") ? () => true : (origin) => origins.includes(origin);

const exposed = [
  "X-Request-Id",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "Retry-After",
  "Location",
  "Idempotent-Replayed",
].join(", ");

/** For a preflight that names none; browsers name all that a request will carry. */
const usualHeaders = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id";

interface Ports {
  readonly allows: AllowsOrigin;
  /** The path of asset links; images and films are read by pages too. */
  readonly assetsPath: string;
  /** Answers preflights, which meet no faults. */
  readonly usual: Handler;
  /** The address's window, without counting. */
  readonly look: (request: RequestContext) => Window;
}

/**
 * A handler whose answers under `/v1`, and those of asset links, can be read by pages of the allowed origins. CONTRACT
 * section 1, "CORS". Around all other handlers, because a browser hides even an error that lacks these headers.
 */
export function withCors(handler: Handler, { allows, assetsPath, usual, look }: Ports): Handler {
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

  return async (request, route) => {
    const isAsset = request.path.startsWith(assetsPath);
    if (!isAsset && !isVersioned(request)) return handler(request, route);
    const origin = request.header("origin");
    if (origin === undefined || !allows(origin)) {
      const outcome = await handler(request, route);
      // A browser stores a file, and must not show a page the copy that an image without an origin has fetched.
      return isAsset ? withHeaders(outcome, { vary: "Origin" }) : outcome;
    }
    const isPreflight = request.method === "OPTIONS" && request.header("access-control-request-method") !== undefined;
    const outcome = await (isPreflight ? usual(request, preflight) : handler(request, route));
    return withHeaders(outcome, {
      "access-control-allow-origin": origin,
      "access-control-expose-headers": exposed,
      vary: "Origin",
    });
  };
}

const withHeaders = ({ answer, ...outcome }: Outcome, headers: Readonly<Record<string, string>>): Outcome => ({
  ...outcome,
  answer: { ...answer, headers: { ...answer.headers, ...headers } },
});
