import type { ArgsDef } from "citty";
import { signatureOf } from "../lib/endpoints/signature.ts";
import { catalog } from "../lib/events/catalog.ts";
import { didYouMean } from "../lib/kernel/did-you-mean.ts";
import { createRandom } from "../lib/kernel/random.ts";
import { version } from "../lib/kernel/version.ts";
import { UsageError } from "./arguments.ts";
import { connectionArgs, connectionOf, explainedError } from "./connection.ts";
import { command, type Given } from "./define-command.ts";
import { followEvents, type ServiceEvent } from "./event-stream.ts";
import { say } from "./output.ts";
import { exitOnSignal } from "./signals.ts";

const args: ArgsDef = {
  "forward-to": {
    type: "string",
    description: "The receiver's URL, such as http://localhost:3000/webhooks.",
    valueHint: "URL",
  },
  events: { type: "string", description: "The events to forward, separated by commas (all).", valueHint: "NAME,…" },
  ...connectionArgs,
};

/** Posts one event as a delivery, and answers the result in a few words. */
async function forward(to: string, { id, event, timestamp, data }: ServiceEvent, secret: string): Promise<string> {
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

function parseEvents(text: string): string[] {
  const known = Object.keys(catalog);
  const wanted = text.split(",");
  const wrong = wanted.find((one) => !known.includes(one));
  if (wrong !== undefined)
    throw new UsageError(
      `option --events: no event is called "${wrong}"${didYouMean(wrong, known) || `; there are ${known.join(", ")}`}`,
    );
  return wanted;
}

async function run(given: Given): Promise<void> {
  const to = String(given["forward-to"] ?? "");
  if (!URL.canParse(to) || !/^https?:$/.test(new URL(to).protocol))
    throw new UsageError("option --forward-to must be a URL such as http://localhost:3000/webhooks");
  const wanted = given["events"] === undefined ? undefined : parseEvents(String(given["events"]));
  const secret = process.env.SVC_WEBHOOK_SECRET || `whsec_${createRandom().alphanumeric(32)}`;
  const write = (about: object, words: string) => say(given["json"] ? JSON.stringify(about) : words);
  const connected = () =>
    write({ event: "forwarding", to, secret }, `Forwarding to ${to}, signed with ${secret}. Press Ctrl+C to stop.`);
  exitOnSignal();
  const connection = connectionOf(given);
  try {
    for await (const serviceEvent of followEvents(connection, connected)) {
      if (wanted && !wanted.includes(serviceEvent.event)) continue;
      const result = await forward(to, serviceEvent, secret);
      const { id, event, timestamp } = serviceEvent;
      write({ event, id, timestamp, result }, `${timestamp}  ${event}  ${id}  ${result}`);
    }
  } catch (error) {
    throw explainedError(error, connection);
  }
}

export const listen = command(
  "listen",
  "Forward events to a receiver on your machine as they happen, signed like deliveries with SVC_WEBHOOK_SECRET, or with a secret that is printed.",
  args,
  run,
);
