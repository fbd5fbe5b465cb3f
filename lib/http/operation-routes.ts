import { Problem } from "../kernel/errors.ts";
import { authorize, type Operation } from "../kernel/operation.ts";
import type { Authenticator } from "./authenticate.ts";
import { base, type RequestContext } from "./request-context.ts";
import { type Route, unnamed, withOtherMethods } from "./route-table.ts";
import type { RunOperation } from "./run-operation.ts";

/**
 * The rows of `/v1`, one an operation. CONTRACT section 1: a path or a method that does not exist is 404 or 405 to those
 * who have a key only.
 */
export function operationRoutes<Services>({
  operations,
  authenticator,
  run,
}: {
  operations: readonly Operation<Services>[];
  authenticator: Authenticator;
  run: RunOperation<Services>;
}): Route[] {
  const { byKey, byAddress } = authenticator;
  const rows = operations.map((operation): Route => {
    const { id, method, path, needs } = operation;
    return {
      method,
      path: base + path,
      name: id,
      access: needs === "nothing" ? byAddress : byKey,
      answer(request, authentication) {
        authorize(operation, authentication.caller);
        return run(operation, request, authentication);
      },
    };
  });
  const unknown: Route = {
    method: "*",
    path: `${base}/**`,
    name: unnamed,
    access: byKey,
    answer() {
      throw new Problem("not_found", "this path does not exist");
    },
  };
  return [...withOtherMethods(rows, byKey), unknown].map(refusingSlash);
}

/** Says to those with a key why a path with a slash at its end does not exist. */
const refusingSlash = (route: Route): Route => ({
  ...route,
  takesSlash: true,
  answer(request: RequestContext, authentication) {
    if (request.path.endsWith("/"))
      throw new Problem("not_found", "this path does not exist; leave out the slash at its end");
    return route.answer(request, authentication);
  },
});
