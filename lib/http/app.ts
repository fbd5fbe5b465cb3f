import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { H3, H3Event } from "h3/node";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import { createBatchPerTick, createYieldEvery64 } from "../kernel/event-loop.ts";
import type { Ids } from "../kernel/ids.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import { ReadableStream } from "../kernel/web.ts";
import type { Answer } from "./answer.ts";
import type { Handler } from "./handler.ts";
import { type Call, contextOfCall, contextOfEvent, contextOfUpgrade } from "./request-context.ts";
import type { Route } from "./route-table.ts";
import { refuseUpgrade, send, sent, stamped, whole } from "./send.ts";

/** The interface, to be called in process and to be given to a server. */
export interface App {
  fetch(request: Request): Promise<Response>;
  readonly handle: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;
  /** An operation by its name. Rejects where the connection of a request would have broken. */
  call(id: string, call: Call): Promise<Answer>;
  /** A request that asks for another protocol. */
  readonly upgrade: (incoming: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>;
}

interface Ports {
  /** Every route, a prefix after the routes below it. */
  readonly table: readonly Route[];
  readonly handler: Handler;
  readonly ids: Ids;
  readonly log: Log;
  readonly behindProxy: boolean;
}

/** The interface as an h3 application: h3 routes, `handler` answers. */
export function createApp({ table, handler, ids, log, behindProxy }: Ports): App {
  const app = new H3({ silent: true, allowMalformedURL: true });
  const leave = createBatchPerTick((error) => log.error("an answer could not be sent", { reason: reasonOf(error) }));
  const pace = createYieldEvery64();

  for (const route of table) {
    if (route.method === "UPGRADE") continue;
    const prefix = route.takesSlash ? route : prefixAround(route, table);
    const serve = async (event: H3Event): Promise<Response> => {
      const request = contextOfEvent(event, ids, behindProxy);
      // h3 takes a trailing slash for the path without it; the contract does not.
      const chosen = request.path.endsWith("/") ? prefix : route;
      return send(await handler(request, chosen), request, leave);
    };
    const path = route.path.replaceAll(/\{(\w+)\}/g, ":$1");
    if (route.method === "*") app.all(path, serve);
    else app.on(route.method, path, serve);
    // h3 answers HEAD for GET only as long as no other method has a handler of the path.
    if (route.method === "GET") app.on("HEAD", path, serve);
  }
  const byName = new Map(table.map((route) => [route.name, route]));
  const upgrades = table.find(({ method }) => method === "UPGRADE");
  // Not `fetch`: every route answers a Response, so nothing has to be made one.
  const routed = (request: Request) => app.handler(new H3Event(request)) as Promise<Response>;

  return {
    async fetch(request) {
      const response = await routed(request);
      // Afterwards, so that a request that was sent before close() has begun before it.
      await pace();
      return response;
    },
    async handle(incoming, outgoing) {
      try {
        const response = await routed(new NodeRequest({ req: incoming, res: outgoing }));
        if (response !== sent) await sendNodeResponse(outgoing, response);
      } catch (error) {
        // A client that left amid its answer is no fault of the service.
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
    async upgrade(incoming, socket, head) {
      const request = contextOfUpgrade(incoming, ids, behindProxy);
      try {
        if (!upgrades) throw new Error("the route table has no upgrades");
        const outcome = await handler(request, upgrades);
        if (outcome.answer.takeOver) outcome.answer.takeOver(socket, head, stamped(outcome));
        else refuseUpgrade(socket, outcome, request.method);
      } catch (error) {
        if (!socket.destroyed) log.error("an upgrade failed unexpectedly", { reason: reasonOf(error) });
        socket.destroy();
      }
    },
  };
}

/** The route of all that begins like this one's path and is no other route; itself where it is such a prefix. */
function prefixAround(route: Route, table: readonly Route[]): Route {
  if (route.path.endsWith("/**")) return route;
  const isAround = ({ method, path }: Route) =>
    method === "*" && path.endsWith("/**") && route.path.startsWith(path.slice(0, -2));
  return table.find(isAround) ?? route;
}
