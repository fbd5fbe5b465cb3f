import { once } from "node:events";
import type { TestContext } from "node:test";
import { WebSocket } from "ws";
import { createService, type Options, type Service } from "../../lib/index.ts";
import { bearer } from "../helpers/headers.ts";
import { emptyDatabase } from "./databases.ts";

export const encryptionKey = Buffer.alloc(32, 7).toString("base64");

/** Services on one empty database, as in several processes; `ask` sends SQL to it. */
export async function severalServices(t: TestContext, count: number, options: Options = {}) {
  const open: Service<string | null>[] = [];
  // Closes the services before the database is dropped.
  t.after(() => Promise.all(open.map((service) => service.close())));
  const { url, ask } = await emptyDatabase(t);
  const start = async (more: Options = {}) => {
    const given: Options = { mode: "start", database: url, encryptionKey, logLevel: "error", ...options, ...more };
    const service = await createService(given);
    open.push(service);
    return service;
  };
  const services = await Promise.all(Array.from({ length: count }, () => start()));
  const key = services.map(({ apiKey }) => apiKey).find((one) => one !== null) ?? "";
  return { url, ask, start, services, key };
}

/** Calls the interface of a service with a key. */
export async function call(
  service: Service<string | null>,
  key: string,
  method: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
) {
  const response = await service.fetch(path, {
    method,
    headers: { ...bearer(key), ...(body && { "content-type": "application/json" }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : undefined };
}

interface Message {
  readonly id?: string;
  readonly data: { readonly status?: string };
}

/** Opens a service's stream and waits for the first ping. */
export async function openSocket(t: TestContext, service: Service<string | null>, key: string, query = "") {
  const { url } = await service.listen({ port: 0 });
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/stream${query}`, { headers: bearer(key) });
  t.after(() => socket.terminate());
  const messages: Message[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  const closed = once(socket, "close");
  await once(socket, "ping");
  const until = async (isEnough: (messages: readonly Message[]) => boolean) => {
    while (!isEnough(messages)) await once(socket, "message");
  };
  const ids = () => messages.flatMap(({ id }) => (id === undefined ? [] : [id]));
  return {
    closed,
    until,
    onMessage: (hear: () => void) => void socket.on("message", hear),
    /** Waits for `count` events; returns the identifiers of all events so far. */
    async events(count: number) {
      await until(() => ids().length >= count);
      return ids();
    },
  };
}
