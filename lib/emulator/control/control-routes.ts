import { createWriter } from "../../http/answer.ts";
import { unauthenticated } from "../../http/authenticate.ts";
import { parseBody, readBody } from "../../http/body.ts";
import { isForeign, requireNear } from "../../http/hosts.ts";
import { queryOf, type RequestContext } from "../../http/request-context.ts";
import { type Access, type Route, unnamed, withOtherMethods } from "../../http/route.ts";
import { Problem } from "../../kernel/errors.ts";
import { check, type Rules, record, type Schema } from "../../kernel/validation.ts";
import type { ControlCall } from "./call.ts";

interface Ports<P> {
  readonly calls: readonly ControlCall<P>[];
  readonly ports: P;
  /** The current time. A function, because a restore replaces the clock during a call. */
  readonly now: () => string;
  /** Called after each call that is not a GET. */
  readonly changed: () => void;
  readonly rules: Rules;
}

const prefix = "/_svc/";
const noFields = record({});

/** In bytes. Fits a scenario with the longest log: 8 MiB in 20,000 lines, plus the JSON around it. */
const bodyLimit = 16 * 1024 * 1024;

/**
 * The routes of the control interface (mode `dev`; schema/testing.md#control-interface). They need no key. So they
 * answer only on loopback and in trusted networks, only for a `Host` of these, and never to a page of another origin.
 */
export function controlRoutes<P>({ calls, ports, now, changed, rules }: Ports<P>): Route[] {
  const access: Access = (request) => {
    requireNear(request, rules.trusted, "the control interface");
    refuseForeign(request);
    return unauthenticated;
  };
  // The control interface has its own record format, whichever envelope `/v1` uses.
  const writer = createWriter({ envelope: "flat", now, base: "" });
  const rows = calls.map(
    (call): Route => ({
      method: call.method,
      path: prefix + call.path,
      name: unnamed,
      access,
      async answer(request) {
        const input = {
          request,
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

/** A missing body counts as an empty object. GET and HEAD have none. */
async function bodyOf(request: RequestContext, schema: Schema, rules: Rules): Promise<unknown> {
  const { method } = request;
  const bytes = method === "GET" || method === "HEAD" ? undefined : await readBody(request, bodyLimit);
  return check(schema, (bytes && parseBody(bytes, false)) ?? {}, rules);
}

function refuseForeign(request: RequestContext): void {
  if (!isForeign(request, `http://${request.header("host")}`)) return;
  const origin = request.header("origin") ?? "other origins";
  throw new Problem(
    "insufficient_role",
    `pages of ${origin.slice(0, 200)} must not use the control interface, and the option cors does not open it; call it from a program`,
  );
}
