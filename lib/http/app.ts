import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type Log, reasonOf } from "../kernel/log.ts";
import { untilAborted } from "../kernel/node/abort.ts";
import { createBatchPerTick, createYieldEvery64 } from "../kernel/node/event-loop.ts";
import type { Answer } from "./answer.ts";
import type { createH3Routes, RoutePorts } from "./h3-routes.ts";
import type { Outcome } from "./handler.ts";
import {
  contextOfCall,
  contextOfSocket,
  type InProcessCall,
  identityOf,
  type RequestContext,
} from "./request-context.ts";
import type { Route } from "./route.ts";
import { refuseUpgrade, stamped } from "./send.ts";

export type App = ReturnType<typeof createApp>;

interface Ports extends RoutePorts {
  readonly log: Log;
}

let h3: typeof import("./h3-routes.ts") | undefined;

/** Loads h3 and Node's web classes. Calls by name need neither; `fetch` starts sooner if they are loaded. */
export async function loadH3() {
  h3 ??= await import("./h3-routes.ts");
  return h3;
}

/** The HTTP interface, for calls in process and for a server. h3 finds the route of a request, `handler` answers. */
export function createApp(ports: Ports) {
  const { table, handler, ids, otherIds, log, behindProxy } = ports;
  const pace = createYieldEvery64();
  const leave = createBatchPerTick((error) => log.error("an answer could not be sent", { reason: reasonOf(error) }));
  /** Created at the first request, because a service may get only calls by name. */
  let routes: ReturnType<typeof createH3Routes> | undefined;
  const routesOf = (loaded: NonNullable<typeof h3>) => {
    routes ??= loaded.createH3Routes(ports, leave);
    return routes;
  };
  const byName = new Map(table.map((route) => [route.name, route]));
  let byPath: Map<string, Route> | undefined;
  const rest = table.at(-1);
  const upgrades = table.filter(({ method }) => method === "UPGRADE");

  return {
    async fetch(request: Request): Promise<Response> {
      const response = await untilAborted(request.signal, async () => routesOf(h3 ?? (await loadH3())).fetch(request));
      // Yields only here: a request that was sent before close() must also begin before it.
      await pace();
      return response;
    },
    async handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
      try {
        await routesOf(h3 ?? (await loadH3())).handle(incoming, outgoing);
      } catch (error) {
        // A client that disconnects before its response is not an error of the service.
        if (!outgoing.headersSent && !incoming.socket.destroyed)
          log.error("a request failed unexpectedly", { reason: reasonOf(error) });
        outgoing.destroy();
      }
    },
    /** Calls an operation by name. Rejects if a fault breaks the connection; a body that breaks off is a stream. */
    async call(id: string, call: InProcessCall): Promise<Answer> {
      const route = byName.get(id);
      if (!route) throw new TypeError(`no operation is called ${id}`);
      const { answer } = await untilAborted(call.signal, () => handler(contextOfCall(call, ids), route));
      await pace();
      return answer;
    },
    /** Answers a request that another service has routed. If this service lacks that route, its last route answers. */
    answer(request: RequestContext, { method, path }: Route): Promise<Outcome> {
      byPath ??= new Map(table.map((route) => [`${route.method} ${route.path}`, route]));
      const route = byPath.get(`${method} ${path}`) ?? rest;
      if (!route) throw new Error("the route table has no last row");
      const identity = identityOf(request.header("x-request-id"), route.leavesNoTrace ? otherIds : ids);
      return handler({ ...request, ...identity }, route);
    },
    async upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
      const [path = "", search = ""] = (incoming.url ?? "").split("?", 2);
      // Compares the path exactly as written, so that no upgrade bypasses the checks of its route.
      const route = upgrades.find((one) => one.path === path) ?? upgrades.at(-1);
      const routed = { incoming, outgoing: undefined, path, search, params: {}, behindProxy };
      const request = contextOfSocket(routed, route?.leavesNoTrace ? otherIds : ids);
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
