import type { ArgsDef } from "citty";
import { type Client, ClientProblem } from "../lib/client.ts";
import { signatureOf } from "../lib/deliveries/signature.ts";
import { machineTimer } from "../lib/kernel/clock.ts";
import { createRandom } from "../lib/kernel/random.ts";
import { version } from "../lib/kernel/version.ts";
import { Usage } from "./arguments.ts";
import { command, type Given, say } from "./command.ts";
import { connect, explained, reach } from "./reach.ts";

const args: ArgsDef = {
  "forward-to": {
    type: "string",
    description: "The receiver on your machine, such as http://localhost:3000/webhooks.",
    valueHint: "URL",
  },
  events: { type: "string", description: "The events to forward, with commas between (all).", valueHint: "NAME,…" },
  ...reach,
};

interface Happened {
  readonly id: string;
  readonly event: string;
  readonly timestamp: string;
  readonly data: object;
}

/** Every two seconds: 300 of the 1,000 requests that a key has in a window, and soon enough for a person who looks on. */
const pause = () => new Promise<void>((resolve) => void machineTimer("2s", resolve, { hold: true }));

/** The events behind the last one that was seen, oldest first. */
async function newer(client: Client, last: string | undefined): Promise<Happened[]> {
  const found: Happened[] = [];
  for await (const one of client.paginate(client.events.list, { per_page: 100 })) {
    if (last !== undefined && one.id <= last) break;
    found.unshift(one);
    if (last === undefined) break;
  }
  return found;
}

/** Posts one event as a delivery is posted, and answers what came back in a few words. */
async function forward(to: string, { id, event, timestamp, data }: Happened, secret: string): Promise<string> {
  const body = JSON.stringify({ event, timestamp, data });
  const headers = {
    "content-type": "application/json",
    "user-agent": `svc-server/${version()}`,
    "x-service-event": event,
    "x-service-delivery": id.replace(/^evt/, "dlv"),
    "x-service-attempt": "1",
    "x-service-signature": signatureOf(secret, body),
  };
  try {
    const signal = AbortSignal.timeout(10_000);
    const response = await fetch(to, { method: "POST", headers, body, redirect: "manual", signal });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    return (error as Error).name === "TimeoutError" ? "no answer within 10 s" : "cannot be reached";
  }
}

async function run(given: Given): Promise<void> {
  const to = String(given["forward-to"] ?? "");
  if (!URL.canParse(to) || !/^https?:$/.test(new URL(to).protocol))
    throw new Usage("option --forward-to must be a URL such as http://localhost:3000/webhooks");
  const wanted = given["events"] === undefined ? undefined : String(given["events"]).split(",");
  const client = connect(given);
  const secret = process.env.SVC_WEBHOOK_SECRET || `whsec_${createRandom().letters(32)}`;
  const write = (about: object, words: string) => say(given["json"] ? JSON.stringify(about) : words);
  try {
    let last = (await newer(client, undefined))[0]?.id ?? "";
    write({ event: "forwarding", to, secret }, `Forwarding to ${to}, signed with ${secret}. Press Ctrl+C to stop.`);
    for (;;) {
      const events = await newer(client, last).catch((error: unknown) => {
        // A server that starts anew is waited for.
        if (error instanceof ClientProblem && error.status === 0) return [];
        throw error;
      });
      for (const happened of events) {
        last = happened.id;
        if (wanted && !wanted.includes(happened.event)) continue;
        const result = await forward(to, happened, secret);
        const { id, event, timestamp } = happened;
        write({ event, id, timestamp, result }, `${timestamp}  ${event}  ${id}  ${result}`);
      }
      await pause();
    }
  } catch (error) {
    throw explained(error);
  }
}

export const listen = command(
  "listen",
  "Forward events as they happen to a receiver on your machine, over plain http, signed as deliveries are (SVC_WEBHOOK_SECRET, else a secret that is shown).",
  args,
  run,
);
