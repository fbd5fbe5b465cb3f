import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { H3, H3Event } from "h3/node";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import { createBatchPerTick, createYieldEvery64 } from "../kernel/event-loop.ts";
import type { Ids } from "../kernel/ids.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { ReadableStream } from "../kernel/web.ts";
import type { Answer } from "./answer.ts";
import type { Handler, Outcome } from "./handler.ts";
import { createPlainRoutes } from "./plain-routes.ts";
import {
  contextOfCall,
  contextOfEvent,
  contextOfSocket,
  contextOfUpgrade,
  type InProcessCall,
  idOf,
  type RequestContext,
} from "./request-context.ts";
import type { Route } from "./route.ts";
import { refuseUpgrade, send, sent, stamped, whole } from "./send.ts";

/** The HTTP interface, for calls in process and for a server. */
export interface App {
  fetch(request: Request): Promise<Response>;
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;
  /** Calls an operation by name. Rejects in the cases where a client would see a broken connection. */
  call(id: string, call: InProcessCall): Promise<Answer>;
  /** Answers a request that another service has routed. If this service lacks that route, its last route answers. */
  answer(request: RequestContext, route: Route): Promise<Outcome>;
  /** Handles a request to upgrade to another protocol. */
  readonly upgrade: (incoming: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;
}

interface Ports {
  /** Every route. A prefix comes after the routes below it. */
  readonly table: readonly Route[];
  readonly handler: Handler;
  readonly ids: Ids;
  /** The ids of requests that the journal leaves out. */
  readonly otherIds: Ids;
  readonly log: Log;
  readonly behindProxy: boolean;
}

/** The interface as an h3 application: h3 finds the route, `handler` answers. */
export function createApp(ports: Ports): App {
  const { table, handler, ids, otherIds, log, behindProxy } = ports;
  const pace = createYieldEvery64();
  /**
   * Created at the first request that needs it. Calls by name do not need it, and creating it is a fifth of the cost of
   * a service that gets only such calls.
   */
  let app: H3 | undefined;
  const byName = new Map(table.map((route) => [route.name, route]));
  let byPath: Map<string, Route> | undefined;
  const rest = table.at(-1);
  const upgrades = table.filter(({ method }) => method === "UPGRADE");
  // `handler` instead of `fetch`: every route returns a Response, so h3 has nothing to convert.
  const routed = (request: Request) => {
    app ??= routerOf(ports, leave);
    return app.handler(new H3Event(request)) as Promise<Response>;
  };

  let plain: ReturnType<typeof createPlainRoutes> | undefined;
  const leave = createBatchPerTick((error) => log.error("an answer could not be sent", { reason: reasonOf(error) }));
  const answerOf = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<Response> => {
    plain ??= createPlainRoutes(table);
    const found = plain(incoming.method ?? "", incoming.url ?? "");
    if (!found) {
      // Parsers of URLs take a backslash for a slash, so a proxy's rule for a path would not see it.
      incoming.url = incoming.url?.replaceAll("\\", "%5C");
      return routed(nodeRequest(incoming, outgoing));
    }
    const { route, params, path, search } = found;
    const context = { incoming, outgoing, path, search, params, behindProxy };
    const request = contextOfSocket(context, route.leavesNoTrace ? otherIds : ids);
    return send(await handler(request, route), request, leave);
  };

  return {
    async fetch(request) {
      const response = await routed(request);
      // Yield only now, so that a request sent before close() also begins before it.
      await pace();
      return response;
    },
    async handle(incoming, outgoing) {
      try {
        const response = await answerOf(incoming, outgoing);
        if (response !== sent) await sendNodeResponse(outgoing, response);
      } catch (error) {
        // A client that disconnects before its response is not an error of the service.
        if (!outgoing.headersSent && !incoming.socket.destroyed)
          log.error("a request failed unexpectedly", { reason: reasonOf(error) });
        outgoing.destroy();
      }
    },
    async call(id, call) {
      const route = byName.get(id);
      if (!route) throw new TypeError(`no operation is called ${id}`);
      const { answer } = await handler(contextOfCall(call, ids), route);
      await pace();
      return answer.body instanceof ReadableStream ? await whole(answer, answer.body) : answer;
    },
    answer(request, { method, path }) {
      byPath ??= new Map(table.map((route) => [`${route.method} ${route.path}`, route]));
      const route = byPath.get(`${method} ${path}`) ?? rest;
      if (!route) throw new Error("the route table has no last row");
      const id = idOf(request.header("x-request-id"), route.leavesNoTrace ? otherIds : ids);
      return handler({ ...request, id }, route);
    },
    async upgrade(incoming, socket, head) {
      const path = incoming.url?.split("?", 1)[0] ?? "";
      // Compare the path exactly as written, so that no upgrade bypasses the checks of its route.
      const route = upgrades.find((one) => one.path === path) ?? upgrades.at(-1);
      const request = contextOfUpgrade(incoming, route?.leavesNoTrace ? otherIds : ids, behindProxy);
      try {
        if (!route) throw new Error("the route table has no upgrades");
        const outcome = await handler(request, route);
        if (outcome.answer.takeOver) outcome.answer.takeOver(socket, head, stamped(outcome));
        else refuseUpgrade(socket, outcome, request.method);
      } catch (error) {
        if (!socket.destroyed) log.error("an upgrade failed unexpectedly", { reason: reasonOf(error) });
        socket.destroy();
      }
    },
  };
}

/**
 * srvx parses the Host to normalize a path, and throws for `127.0.0.1:99999`. Any host will do here: only path and
 * query of the URL are used, and the handler checks the Host.
 */
function nodeRequest(req: IncomingMessage, res: ServerResponse): Request {
  const request: Request & { _url?: URL } = new NodeRequest({ req, res });
  try {
    request._url;
  } catch {
    request._url = new URL(req.url ?? "/", "http://localhost");
  }
  return request;
}

function routerOf({ table, handler, ids, otherIds, behindProxy }: Ports, leave: (run: () => void) => void): H3 {
  const app = new H3({ silent: true, allowMalformedURL: true });
  for (const route of table) {
    if (route.method === "UPGRADE") continue;
    const prefix = route.takesSlash ? route : prefixAround(route, table);
    const serve = async (event: H3Event): Promise<Response> => {
      const request = contextOfEvent(event, route.leavesNoTrace ? otherIds : ids, behindProxy);
      // h3 ignores a trailing slash. Here it makes a different path (schema/http.md#the-order-of-checks).
      const chosen = request.path.endsWith("/") ? prefix : route;
      return send(await handler(request, chosen), request, leave);
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
