import { on } from "node:events";
import * as v from "valibot";
import { type Client, ClientProblem } from "../lib/client.ts";
import { event } from "../lib/events/schema.ts";
import { systemTimer } from "../lib/kernel/clock.ts";
import { codes } from "../lib/live/subscriber.ts";
import { baseOf, type Connection, clientOf } from "./connection.ts";

export type ServiceEvent = v.InferOutput<typeof event>;

/** Why a stream ended: the code of its close, or the status of the answer that came instead of a stream. */
interface Ended {
  readonly code: number;
  readonly reason: string;
}

/** The service pings every 30 seconds: after this much silence nobody is there. */
const silence = "75s";

/**
 * The events that the service's stream tells, from after the one named on, in their order; answers why it ended. `begun` is
 * called once nothing is missed any more.
 */
async function* readStream(
  { url, apiKey }: Connection,
  after: string,
  begun: () => void,
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
  let calm = () => {};
  const lives = () => {
    calm();
    calm = systemTimer(silence, () => socket.terminate());
  };
  socket.once("ping", begun);
  socket
    .on("open", lives)
    .on("ping", lives)
    .on("error", () => {});
  try {
    for await (const [data] of on(socket, "message", { close: ["close"] })) {
      const { success, output } = v.safeParse(event, JSON.parse(String(data)));
      // Changes of state are told as well, and have no id.
      if (success) yield output;
    }
  } catch {
    // Whatever goes wrong, the close that follows tells of it.
  } finally {
    calm();
    socket.terminate();
  }
  return ended;
}

/** What waiting does not mend, of the reasons for which a stream ends. */
function permanentError({ code, reason }: Ended): ClientProblem | undefined {
  if (code === 401 || code === codes.unauthorized)
    return new ClientProblem("unauthorized", reason || "the API key is not valid any more");
  if (code === 403 || code === codes.forbidden)
    return new ClientProblem("insufficient_scope", reason || "the API key must have the scope webhooks:read");
  // A service that starts anew, or a proxy before it; and all other codes of WebSockets, which lie above.
  if (code === 429 || code >= 500) return undefined;
  const sentence = `the service answered ${code} instead of opening a WebSocket; what stands before it must pass those on`;
  return new ClientProblem("unreadable", sentence);
}

/** How long to wait before the stream is opened anew, after so many times in vain. */
const waitBeforeRetry = (tries: number) =>
  new Promise<void>((resolve) => void machineTimer(Math.min(250 * 2 ** tries, 5_000), resolve, { hold: true }));

/** The events behind one, oldest first: of more than a stream goes back. */
async function eventsAfter(client: Client, after: string): Promise<ServiceEvent[]> {
  const found: ServiceEvent[] = [];
  for await (const one of client.paginate(client.events.list, { per_page: 100 })) {
    if (one.id <= after) break;
    found.unshift(one);
  }
  return found;
}

/** Behind which every event is. */
const beforeFirst = `evt_${"0".repeat(26)}`;

/**
 * The events of a service from now on, each once and in their order, whatever connections break and however often the
 * service starts anew. `begun` is called when nothing is missed any more. Throws {ClientProblem} where the key stops.
 */
export async function* followEvents(place: Connection, begun: () => void): AsyncGenerator<ServiceEvent, never, void> {
  const client = clientOf(place);
  let last = (await client.events.list({ per_page: 1 })).data[0]?.id ?? beforeFirst;
  const say = (sentence: string) => void process.stderr.write(`${sentence}\n`);
  let opened = begun;
  for (let tries = 0; ; tries++) {
    const stream = readStream(place, last, () => {
      tries = 0;
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
    if (tries === 0) say(`The stream broke off${reason && ` (${reason})`}; waiting for the service.`);
    if (code === codes.tooFar)
      for (const happened of await eventsAfter(client, last)) {
        last = happened.id;
        yield happened;
      }
    await waitBeforeRetry(tries);
  }
}
