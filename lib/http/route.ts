import { Problem } from "../kernel/errors.ts";
import type { Answer } from "./answer.ts";
import type { Authentication } from "./authenticate.ts";
import { base, type RequestContext } from "./request-context.ts";

/** Authenticates a request for a route, and counts it. Throws or returns a `refusal` if the request is not allowed. */
export type Access = (request: RequestContext) => Authentication | Promise<Authentication>;

/** One row of the route table. */
export interface Route {
  /** GET includes HEAD; `*` is any method that no other row of the path has, and `UPGRADE` is an upgrade request. */
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "*" | "UPGRADE";
  /** `/v1/projects/{id}`, or a prefix such as `/assets/**`. */
  readonly path: string;
  /** Its name in the metrics. */
  readonly name: string;
  readonly access: Access;
  answer(request: RequestContext, authentication: Authentication): Answer | Promise<Answer>;
  /** Whether a trailing slash is allowed; for other routes that is another path. */
  readonly takesSlash?: boolean;
  /** Monitoring calls it every few seconds, so its log level is debug. */
  readonly isRoutine?: boolean;
  /**
   * Whether its requests change nothing that programs see: their ids are not of the service's sequence, and the journal
   * leaves them out.
   */
  readonly leavesNoTrace?: boolean;
  /** Whether it answers during shutdown. All other routes are 503 then. */
  readonly outlivesShutdown?: boolean;
}

/** The name of routes that are not operations. */
export const unnamed = "none";

export const notHere = () => new Problem("not_found", `this path does not exist; the interface is under ${base}`);

/** The rows, and for each path a row for all other methods: 405. `access` is for that row; default: the first row's. */
export function withOtherMethods(routes: readonly Route[], access?: Access): Route[] {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  return [...paths.values()].flatMap((rows) => [
    ...rows,
    ...rows.slice(0, 1).map((first) => otherMethods(first, rows, access)),
  ]);
}

function otherMethods(first: Route, rows: readonly Route[], access = first.access): Route {
  const methods = rows.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ");
  return {
    ...first,
    method: "*",
    name: unnamed,
    access,
    answer() {
      throw new Problem("method_not_allowed", `method not allowed; allowed: ${methods}`, {
        headers: { allow: methods },
      });
    },
  };
}
