import { type Answer, createWriter } from "../http/answer.ts";
import { parseBody, readBody } from "../http/body.ts";
import { isLocal } from "../http/hosts.ts";
import { queryOf, type RequestContext } from "../http/request-context.ts";
import { Problem } from "../kernel/errors.ts";
import { check, record, type Schema } from "../kernel/validation.ts";
import type { Call } from "./call.ts";

interface Ports {
  readonly calls: readonly Call[];
  /** What the present clock shows: after a restore it is another one than when the call came. */
  readonly now: () => string;
  readonly bodyLimit: number;
}

const prefix = "/_svc/";
const nothing = record({});

interface Route {
  readonly pattern: RegExp;
  readonly calls: ReadonlyMap<string, Call>;
}

/** One route a path, with its calls by method. */
function routesOf(calls: readonly Call[]): Route[] {
  return [...new Set(calls.map(({ path }) => path))].map((path) => ({
    pattern: new RegExp(`^${prefix}${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
    calls: new Map(calls.filter((one) => one.path === path).map((one) => [one.method, one])),
  }));
}

/**
 * The control interface of the mode `dev`: CONTRACT section 8. It has no key, so it answers on loopback alone, to a
 * loopback `Host`, and to no page of another origin.
 */
export function createControl({ calls, now, bodyLimit }: Ports) {
  const routes = routesOf(calls);
  // Its shapes are its own, whatever envelope the interface has.
  const writer = createWriter({ envelope: "flat", now, base: "" });

  return async (exchange: RequestContext): Promise<Answer | undefined> => {
    if (!`${exchange.path}/`.startsWith(prefix) || !isLocal(exchange)) return undefined;
    refuseForeign(exchange);
    const route = routes.find(({ pattern }) => pattern.test(exchange.path));
    if (!route) throw unknown(calls);
    const call = route.calls.get(exchange.method === "HEAD" ? "GET" : exchange.method);
    if (!call) throw wrongMethod(route);
    const result = await call.run({
      params: { ...route.pattern.exec(exchange.path)?.groups },
      query: check(call.query ?? nothing, queryOf(exchange)),
      body: await bodyOf(exchange, call.body ?? nothing, bodyLimit),
    });
    return Array.isArray(result) ? writer.list(result, exchange.id) : writer.object(call.status, result, exchange.id);
  };
}

/** A body that was left out is an empty one; what only looks is given none. */
async function bodyOf(exchange: RequestContext, schema: Schema, limit: number): Promise<unknown> {
  const { method } = exchange;
  const bytes = method === "GET" || method === "HEAD" ? undefined : await readBody(exchange, limit);
  return check(schema, (bytes && parseBody(bytes, false)) ?? {});
}

function unknown(calls: readonly Call[]): Problem {
  const known = calls.map(({ method, path }) => `${method} ${prefix}${path}`).join(", ");
  return new Problem("not_found", `no call of the control interface has this path; there are ${known}`);
}

function wrongMethod({ calls }: Route): Problem {
  const methods = [...calls.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ");
  return new Problem("method_not_allowed", `this path takes ${methods}`, { headers: { allow: methods } });
}

/** A browser sends `Origin` with what a page does: only pages of this very address may. */
function refuseForeign({ header }: RequestContext): void {
  const origin = header("origin");
  if (origin === undefined) return;
  if (origin !== `http://${header("host")}`) {
    throw new Problem(
      "insufficient_role",
      "a page of another origin must not use the control interface; call it from a program",
    );
  }
}
