import { Problem } from "../kernel/errors.ts";
import type { Answer } from "./answer.ts";
import type { Authentication } from "./authenticate.ts";
import { base, type RequestContext } from "./request-context.ts";

/** Who may come to a route, and which window counts them. Throws, or answers a `refusal`, for anybody else. */
export type Access = (request: RequestContext) => Authentication | Promise<Authentication>;

/** One row of the route table. */
export interface Route {
  /** GET takes HEAD too; `*` is any method that no other row of the path has, `UPGRADE` asks for another protocol. */
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "*" | "UPGRADE";
  /** `/v1/projects/{id}`, or a prefix such as `/assets/**`. */
  readonly path: string;
  /** Its name in the metrics. */
  readonly name: string;
  readonly access: Access;
  answer(request: RequestContext, authentication: Authentication): Answer | Promise<Answer>;
  /** It takes its path with a slash at the end too; elsewhere that is another path. */
  readonly takesSlash?: boolean;
  /** A machine asks every few seconds, so the log has it at the level debug. */
  readonly isRoutine?: boolean;
  /** It answers while the service shuts down too, when all others are 503. */
  readonly outlivesShutdown?: boolean;
}

/** The name of routes that are no operation. */
export const unnamed = "none";

export const notHere = () => new Problem("not_found", `this path does not exist; the interface is under ${base}`);

/** The rows, and one a path for all other methods: 405. `access` is that row's; by default that of the path's first. */
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
      throw new Problem("method_not_allowed", `this path takes ${methods}`, { headers: { allow: methods } });
    },
  };
}
