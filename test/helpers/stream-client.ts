import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { TestContext } from "node:test";
import { WebSocket } from "ws";
import { type ListeningWorld, owner } from "./raw-sockets.ts";

/** Reads a service's stream over a WebSocket. */

/** A stream client with the messages that it received. */
export function openStream(
  t: TestContext,
  here: Pick<ListeningWorld, "port">,
  query = "",
  headers: Record<string, string> = owner,
) {
  const socket = new WebSocket(`ws://127.0.0.1:${here.port}/v1/stream${query}`, { headers });
  t.after(() => socket.terminate());
  // biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of a message
  const messages: any[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  const closed = once(socket, "close").then(([code, reason]) => ({ code, reason: String(reason) }));
  return {
    socket,
    messages,
    closed,
    /** The service's first ping. No message is missed after it. */
    begun: once(socket, "ping"),
    opened: once(socket, "open"),
    async until(count: number) {
      while (messages.length < count) await once(socket, "message");
      return messages;
    },
    events: () => messages.filter(({ id }) => id !== undefined).map(({ event }) => event),
  };
}

/** The response that refuses a WebSocket connection. */
export async function refusedStream(here: ListeningWorld, query = "", headers: Record<string, string> = owner) {
  const socket = new WebSocket(`ws://127.0.0.1:${here.port}/v1/stream${query}`, { headers });
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(Buffer.concat(chunks).toString()) };
}
