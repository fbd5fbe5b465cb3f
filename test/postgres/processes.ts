import { once } from "node:events";
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type ServerResponse,
  request as send,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { WebSocket } from "ws";
import { bearer } from "../helpers/headers.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { firstOf } from "../helpers/until.ts";

const encryptionKey = Buffer.alloc(32, 7).toString("hex");

/** Servers on one database, each in its own process. `moreOf` adds environment variables for server `i`. */
export async function startProcesses(
  t: TestContext,
  database: string,
  count: number,
  more = {},
  moreOf: (i: number) => object = () => ({}),
) {
  const folder = temporaryFolder(t);
  const words = ["start", "--database", database, "--port", "0"];
  const start = (i: number) =>
    launch(t, words, folder, { env: { SVC_ENCRYPTION_KEY: encryptionKey, ...more, ...moreOf(i) } });
  const running = await Promise.all(Array.from({ length: count }, (_, i) => start(i)));
  const key = running.map(({ api_key }) => api_key).find((one) => one !== null) ?? "";
  return {
    key,
    /** The addresses of the running servers. */
    urls: () => running.map(({ url }) => url),
    pids: () => running.map(({ pid }) => pid ?? 0),
    /** Kills a server with SIGKILL and starts another in its place. */
    async kill(i: number) {
      await running[i]?.stop("SIGKILL");
      running[i] = await start(i);
    },
    /** Stops all servers; returns their exit codes and error output. */
    async stop() {
      const ends = await Promise.all(running.map((one) => one.stop()));
      return { codes: ends.map(({ code }) => code), errors: running.map((one) => one.errors()).join("") };
    },
  };
}

export type Processes = Awaited<ReturnType<typeof startProcesses>>;

/** A round-robin load balancer without health checks: answers 502 if the chosen process does not respond. */
export async function roundRobin(t: TestContext, { urls }: Processes): Promise<string> {
  let next = 0;
  const forward = (incoming: IncomingMessage, response: ServerResponse) => {
    const targets = urls();
    const target = new URL(incoming.url ?? "/", targets[next++ % targets.length]);
    const { method, headers } = incoming;
    const outgoing: ClientRequest = send(target, { method, headers: { ...headers, host: target.host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    });
    outgoing.on("error", () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    incoming.pipe(outgoing);
  };
  const server = createServer(forward).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A client that repeats a request until it gets a response that is neither 502 nor 503. */
export function createCaller(base: string, key: string) {
  let lost = 0;
  const attempt = async (method: string, path: string, body: object | undefined, headers: Record<string, string>) => {
    const response = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    if (response.status >= 500 && response.status !== 502 && response.status !== 503)
      throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return response.status >= 500 ? undefined : { status: response.status, body: text ? JSON.parse(text) : undefined };
  };
  return {
    lost: () => lost,
    async call(method: string, path: string, body?: object, idempotencyKey?: string) {
      const headers = {
        ...bearer(key),
        ...(body && { "content-type": "application/json" }),
        ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      };
      return firstOf(() =>
        attempt(method, path, body, headers).catch((error) => {
          if (!(error instanceof TypeError)) throw error;
          lost += 1;
          return undefined;
        }),
      );
    },
  };
}

/** Follows the stream of all events; after each disconnect, resumes at another process. */
export function followEvents(t: TestContext, { urls, key }: Processes) {
  const ids: string[] = [];
  let hasEnded = false;
  let socket: WebSocket | undefined;
  let heard = () => {};
  const connect = (turn: number) => {
    const url = urls()[turn % urls().length] ?? "";
    const after = ids.length > 0 ? `?after=${ids.at(-1)}` : "";
    socket = new WebSocket(`${url.replace("http", "ws")}/v1/stream${after}`, { headers: bearer(key) });
    socket.on("error", () => {});
    socket.on("message", (data) => {
      const { id } = JSON.parse(String(data));
      if (id !== undefined) ids.push(id);
      heard();
    });
    socket.once("close", () => hasEnded || connect(turn + 1).catch(() => {}));
    return once(socket, "ping");
  };
  t.after(() => {
    hasEnded = true;
    socket?.terminate();
  });
  return {
    begun: connect(0),
    ids,
    async until(last: string) {
      while (ids.at(-1) !== last) {
        await new Promise<void>((resolve) => {
          heard = resolve;
        });
      }
    },
  };
}
