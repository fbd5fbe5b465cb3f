import type { IncomingMessage, ServerResponse } from "node:http";
import { H3, H3Event } from "h3/node";
import { FastResponse } from "srvx";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import type { Ids } from "../kernel/ids.ts";
import { streamUntilAborted } from "../kernel/node/abort.ts";
import { monotonicNow } from "../kernel/node/system.ts";
import { fetchClasses, isStream } from "../kernel/node/web.ts";
import type { Handler, Outcome } from "./handler.ts";
import { contextOfSocket, identityOf, type RequestContext } from "./request-context.ts";
import type { Route } from "./route.ts";
import { headersOf, pairsOf, shownBody, writeAnswer } from "./send.ts";
import { phraseOf } from "./server.ts";

/** srvx's class costs half as much as Node's. It needs Node's own class, which Vitest hides under happy-dom. */
const WebResponse: typeof FastResponse =
  "happyDOM" in globalThis ? (fetchClasses().Response as typeof FastResponse) : FastResponse;

/** Marks an answer that is already written to its socket. */
const sent: Response = new WebResponse(null);

/** If `signal` aborts, a stream breaks off. */
function responseOf(outcome: Outcome, method: string, signal?: AbortSignal): Response {
  const body = shownBody(outcome, method);
  return new WebResponse(signal && isStream(body) ? streamUntilAborted(body, signal) : body, {
    status: outcome.answer.status,
    statusText: phraseOf(outcome.answer.status),
    headers: Object.fromEntries(pairsOf(headersOf(outcome, method))),
  });
}

export interface RoutePorts {
  /** Every route. A prefix comes after the routes below it. */
  readonly table: readonly Route[];
  readonly handler: Handler;
  readonly ids: Ids;
  /** The ids of requests that the journal leaves out. */
  readonly otherIds: Ids;
  readonly behindProxy: boolean;
}

/** The interface as an h3 application: h3 finds the route, `handler` answers. `leave` sends the answers to reads. */
export function createH3Routes(ports: RoutePorts, leave: (run: () => void) => void) {
  const app = routerOf(ports, leave);
  // `handler` instead of `fetch`: every route returns a Response, so h3 has nothing to convert.
  const routed = (request: Request) => app.handler(new H3Event(request)) as Promise<Response>;
  return {
    fetch: routed,
    async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
      // URL parsers treat a backslash as a slash, so a path with one would bypass a proxy's rule.
      incoming.url = incoming.url?.replaceAll("\\", "%5C");
      const response = await routed(nodeRequest(incoming, outgoing));
      if (response !== sent) await sendNodeResponse(outgoing, response);
    },
  };
}

/** srvx throws for a Host such as `127.0.0.1:99999`. The host does not matter: only path and query are used. */
function nodeRequest(req: IncomingMessage, res: ServerResponse): Request {
  const request: Request & { _url?: URL } = new NodeRequest({ req, res });
  try {
    request._url;
  } catch {
    request._url = new URL(req.url ?? "/", "http://localhost");
  }
  return request;
}

function routerOf({ table, handler, ids, otherIds, behindProxy }: RoutePorts, leave: (run: () => void) => void): H3 {
  const app = new H3({ silent: true, allowMalformedURL: true });
  for (const route of table) {
    if (route.method === "UPGRADE") continue;
    const prefix = route.takesSlash ? route : prefixAround(route, table);
    const serve = async (event: H3Event): Promise<Response> => {
      const request = contextOf(event, route.leavesNoTrace ? otherIds : ids, behindProxy);
      // h3 ignores a trailing slash. Here it makes a different path (schema/http.md#the-order-of-checks).
      const chosen = request.path.endsWith("/") ? prefix : route;
      const outcome = await handler(request, chosen);
      if (writeAnswer(outcome, request, leave)) return sent;
      return responseOf(outcome, request.method, request.outgoing ? undefined : event.req.signal);
    };
    const path = route.path.replaceAll(/\{(\w+)\}/g, ":$1");
    if (route.method === "*") app.all(path, serve);
    else app.on(route.method, path, serve);
    // h3 answers HEAD like GET only if no other method has a handler for the path.
    if (route.method === "GET") app.on("HEAD", path, serve);
  }
  return app;
}

/** The prefix route (`/**`) that covers a route; the route itself if it is a prefix or has none. */
function prefixAround(route: Route, table: readonly Route[]): Route {
  if (route.path.endsWith("/**")) return route;
  const isAround = ({ method, path }: Route) =>
    method === "*" && path.endsWith("/**") && route.path.startsWith(path.slice(0, -2));
  return table.find(isAround) ?? route;
}

function contextOf(event: H3Event, ids: Ids, behindProxy: boolean): RequestContext {
  const node = event.runtime?.node;
  const { pathname: path, search } = event.url;
  const params = event.context.params ?? {};
  if (node?.res) {
    const [incoming, outgoing] = [node.req as IncomingMessage, node.res as ServerResponse];
    return contextOfSocket({ incoming, outgoing, path, search, params, behindProxy }, ids);
  }
  const header = (name: string) => event.req.headers.get(name) ?? undefined;
  return {
    method: event.req.method,
    path,
    search: () => event.url.search,
    query: () => event.url.searchParams,
    address: () => undefined,
    incoming: undefined,
    outgoing: undefined,
    params,
    body: () => event.req.arrayBuffer(),
    signal: () => event.req.signal,
    header,
    began: monotonicNow(),
    ...identityOf(header("x-request-id"), ids),
  };
}
