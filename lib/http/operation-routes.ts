import { Problem } from "../kernel/errors.ts";
import { authorize, type Operation } from "../kernel/operation.ts";
import type { Authenticator } from "./authenticate.ts";
import { base } from "./request-context.ts";
import { type Route, unnamed, withOtherMethods } from "./route.ts";
import type { RunOperation } from "./run-operation.ts";

/** The routes of all operations below a prefix. Without a key, unknown paths and methods are 401, not 404 or 405. */
export function operationRoutes<Services>({
  operations,
  authenticator,
  run,
  prefix = base,
}: {
  operations: readonly Operation<Services>[];
  authenticator: Pick<Authenticator, "byKey" | "byAddress">;
  run: RunOperation<Services>;
  prefix?: string;
}): Route[] {
  const { byKey, byAddress } = authenticator;
  const rows = operations.map((operation): Route => {
    const { id, method, path, needs } = operation;
    return {
      method,
      path: prefix + path,
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
    path: `${prefix}/**`,
    name: unnamed,
    access: byKey,
    answer({ path }) {
      const hint = path.endsWith("/") ? "; leave out the slash at its end" : "";
      throw new Problem("not_found", `this path does not exist${hint}`);
    },
  };
  return [...withOtherMethods(rows, byKey), unknown];
}
