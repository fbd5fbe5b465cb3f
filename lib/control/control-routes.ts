import { createWriter } from "../http/answer.ts";
import { unauthenticated } from "../http/authenticate.ts";
import { parseBody, readBody } from "../http/body.ts";
import { requireNear } from "../http/hosts.ts";
import { queryOf, type RequestContext } from "../http/request-context.ts";
import { type Access, type Route, unnamed, withOtherMethods } from "../http/route.ts";
import { Problem } from "../kernel/errors.ts";
import { check, type Rules, record, type Schema } from "../kernel/validation.ts";
import type { ControlCall } from "./call.ts";

interface Ports<P> {
  readonly calls: readonly ControlCall<P>[];
  /** The ports of the calls. */
  readonly ports: P;
  /** The current clock as text: a restore replaces the clock that a call began with. */
  readonly now: () => string;
  /** Called after each call that may have changed something. */
  readonly changed: () => void;
  readonly rules: Rules;
}

const prefix = "/_svc/";
const noFields = record({});

/** In bytes: a scenario with the longest log, 8 MiB in 20,000 lines, and the JSON around it. */
const bodyLimit = 16 * 1024 * 1024;

/**
 * The routes of the control interface (mode `dev`; schema/testing.md#control-interface). It needs no key. So it answers
 * on loopback and in trusted networks only, for a `Host` of these only, and never to a page of another origin.
 */
export function controlRoutes<P>({ calls, ports, now, changed, rules }: Ports<P>): Route[] {
  const access: Access = (request) => {
    requireNear(request, rules.trusted, "the control interface");
    refuseForeign(request);
    return unauthenticated;
  };
  // Its records have a form of their own, in either envelope of `/v1`.
  const writer = createWriter({ envelope: "flat", now, base: "" });
  const rows = calls.map(
    (call): Route => ({
      method: call.method,
      path: prefix + call.path,
      name: unnamed,
      access,
      async answer(request) {
        const input = {
          params: request.params,
          query: check(call.query ?? noFields, queryOf(request)),
          body: await bodyOf(request, call.body ?? noFields, rules),
        };
        const result = await call.run(input, ports);
        if (call.method !== "GET") changed();
        return Array.isArray(result) ? writer.list(result, request.id) : writer.object(call.status, result, request.id);
      },
    }),
  );
  const known = calls.map(({ method, path }) => `${method} ${prefix}${path}`).join(", ");
  const unknown: Route = {
    method: "*",
    path: `${prefix}**`,
    name: unnamed,
    access,
    answer() {
      throw new Problem("not_found", `the control interface has no such path; its paths are ${known}`);
    },
  };
  return [...withOtherMethods(rows), unknown];
}

/** A body that was left out counts as an empty object; GET and HEAD have none. */
async function bodyOf(request: RequestContext, schema: Schema, rules: Rules): Promise<unknown> {
  const { method } = request;
  const bytes = method === "GET" || method === "HEAD" ? undefined : await readBody(request, bodyLimit);
  return check(schema, (bytes && parseBody(bytes, false)) ?? {}, rules);
}

/** A browser sends `Origin` with the requests of a page. Only pages of this address are allowed. */
function refuseForeign({ header }: RequestContext): void {
  const origin = header("origin");
  if (origin === undefined || origin === `http://${header("host")}`) return;
  throw new Problem(
    "insufficient_role",
    `pages of ${origin.slice(0, 200)} must not use the control interface, and the option cors does not open it; call it from a program`,
  );
}
