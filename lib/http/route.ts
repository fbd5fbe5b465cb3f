import { Problem } from "../kernel/errors.ts";
import type { Answer } from "./answer.ts";
import type { Authentication } from "./authenticate.ts";
import { base, type RequestContext } from "./request-context.ts";

/** Authenticates and counts a request for a route. If it is not allowed, throws or returns a `refusal`. */
export type Access = (request: RequestContext) => Authentication | Promise<Authentication>;

export interface Route {
  /** GET includes HEAD. `*` is any method without its own row for the path. `UPGRADE` is an upgrade request. */
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "*" | "UPGRADE";
  /** `/v1/projects/{id}`, or a prefix such as `/assets/**`. */
  readonly path: string;
  /** The name in the metrics. */
  readonly name: string;
  readonly access: Access;
  answer(request: RequestContext, authentication: Authentication): Answer | Promise<Answer>;
  /** Whether it also answers its path with a trailing slash. For other routes, that is a different path. */
  readonly takesSlash?: boolean;
  /** Monitoring calls it every few seconds, so it is logged at level debug. */
  readonly isRoutine?: boolean;
  /** Its requests take their ids from another sequence, and the journal leaves them out, so programs see no trace. */
  readonly leavesNoTrace?: boolean;
  /** Whether it answers during shutdown, when all other routes answer 503. */
  readonly outlivesShutdown?: boolean;
}

/** The metrics name of routes that are not operations. */
export const unnamed = "none";

export const notHere = () => new Problem("not_found", `this path does not exist; the interface is under ${base}`);

/** Adds a 405 row for all other methods of each path, with `access` or else that of the path's first row. */
export function withOtherMethods(routes: readonly Route[], access?: Access): Route[] {
  const paths = new Map<string, Route[]>();
  for (const route of routes) paths.set(route.path, [...(paths.get(route.path) ?? []), route]);
  return [...paths.values()].flatMap((rows) => [...rows, otherMethods(rows, access)]);
}

function otherMethods(rows: readonly Route[], access?: Access): Route {
  const [first] = rows as readonly [Route, ...Route[]];
  const methods = rows.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ");
  return {
    ...first,
    method: "*",
    name: unnamed,
    access: access ?? first.access,
    answer() {
      throw new Problem("method_not_allowed", `method not allowed; allowed: ${methods}`, {
        headers: { allow: methods },
      });
    },
  };
}
