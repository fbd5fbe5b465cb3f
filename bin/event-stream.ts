import { on } from "node:events";
import * as v from "valibot";
import { type Client, ClientProblem } from "../lib/client.ts";
import { beforeFirst, event } from "../lib/features/events/schema.ts";
import { codes } from "../lib/http/streams/subscriber.ts";
import { baseOf, type Connection, clientOf } from "./connection.ts";
import { longTimer, pause } from "./timers.ts";

export type ServiceEvent = v.InferOutput<typeof event>;

/** Why a stream ended: its close code, or the HTTP status if no stream was opened. */
interface Ended {
  readonly code: number;
  readonly reason: string;
}

/** The service pings every 30 seconds, so the connection counts as lost after this much silence. */
const silence_ms = 75_000;

/**
 * Yields the service's events after the event `after`, in order. Returns why the stream ended. Calls `connected` once
 * no later event can be missed.
 */
async function* readStream(
  { url, apiKey }: Connection,
  after: string,
  connected: () => void,
): AsyncGenerator<ServiceEvent, Ended, void> {
  const { WebSocket } = await import("ws");
  const socket = new WebSocket(`${baseOf(url).replace(/^http/i, "ws")}/stream?after=${after}`, {
    headers: { authorization: `Bearer ${apiKey}` },
    handshakeTimeout: 10_000,
  });
  let refused: number | undefined;
  socket.on("unexpected-response", (_, { statusCode }) => {
    refused = statusCode;
    socket.terminate();
  });
  const ended = new Promise<Ended>((resolve) => {
    socket.once("close", (code, reason) => resolve({ code: refused ?? code, reason: String(reason) }));
  });
  let cancelTimeout = () => {};
  const resetTimeout = () => {
    cancelTimeout();
    cancelTimeout = longTimer(silence_ms, () => socket.terminate());
  };
  socket.once("ping", connected);
  socket
    .on("open", resetTimeout)
    .on("ping", resetTimeout)
    .on("error", () => {});
  try {
    for await (const [data] of on(socket, "message", { close: ["close"] })) {
      const { success, output } = v.safeParse(event, JSON.parse(String(data)));
      // The stream also sends state changes, which have no id.
      if (success) yield output;
    }
  } catch {
    // The close event after a failure has the reason.
  } finally {
    cancelTimeout();
    socket.terminate();
  }
  return ended;
}

/** The error of a stream that must not be reopened; undefined if a retry can succeed. */
function permanentError({ code, reason }: Ended): ClientProblem | undefined {
  if (code === 401 || code === codes.unauthorized)
    return new ClientProblem("unauthorized", reason || "the API key is no longer valid");
  if (code === 403 || code === codes.forbidden)
    return new ClientProblem("insufficient_scope", reason || "the API key must have the scope webhooks:read");
  // The service restarts, or a proxy answers for it. All other WebSocket close codes are above 500 too.
  if (code === 429 || code >= 500) return undefined;
  const sentence = `the service answered ${code} instead of opening a WebSocket; a proxy in front of it must forward WebSockets`;
  return new ClientProblem("unreadable", sentence);
}

const waitBeforeRetry = (attempts: number) => pause(Math.min(250 * 2 ** attempts, 5_000));

/** The events after this one, oldest first. The list goes back further than the stream. */
async function eventsAfter(client: Client, after: string): Promise<ServiceEvent[]> {
  const events: ServiceEvent[] = [];
  for await (const one of client.paginate(client.events.list, { per_page: 100 })) {
    if (one.id <= after) break;
    events.unshift(one);
  }
  return events;
}

const newest = async (client: Client) => (await client.events.list({ per_page: 1 })).data[0]?.id ?? beforeFirst;

/**
 * Yields a service's events from now on, each once and in order, even across broken connections and restarts of the
 * service. Calls `connected` once no later event can be missed, and `say` when the stream breaks off and when it goes
 * on. Throws {ClientProblem} when the key stops working.
 */
export async function* followEvents(
  connection: Connection,
  connected: () => void,
  say: (sentence: string) => void,
): AsyncGenerator<ServiceEvent, never, void> {
  const client = clientOf(connection);
  let last = await newest(client);
  let opened = connected;
  for (let attempts = 0; ; attempts++) {
    const stream = readStream(connection, last, () => {
      attempts = 0;
      opened();
      opened = () => say("Connected again.");
    });
    let next = await stream.next();
    for (; !next.done; next = await stream.next()) {
      last = next.value.id;
      yield next.value;
    }
    const refusal = permanentError(next.value);
    if (refusal) throw refusal;
    const { code, reason } = next.value;
    // If the list cannot be read, the next stream ends with the same code, or with a permanent error.
    if (code === codes.unknown) {
      const restart = await newest(client).catch(() => undefined);
      if (restart === undefined) await waitBeforeRetry(attempts);
      else {
        say("The service was reset or restored; going on with its new events.");
        last = restart;
      }
      continue;
    }
    if (attempts === 0) say(`The stream broke off${reason && ` (${reason})`}; waiting for the service.`);
    if (code === codes.tooFar)
      for (const missed of await eventsAfter(client, last).catch(() => [])) {
        last = missed.id;
        yield missed;
      }
    await waitBeforeRetry(attempts);
  }
}
