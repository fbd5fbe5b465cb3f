import type { ArgsDef } from "citty";
import { signatureOf } from "../lib/deliveries/signature.ts";
import { catalog } from "../lib/events/catalog.ts";
import { isLoopbackName } from "../lib/http/hosts.ts";
import { systemTimer } from "../lib/kernel/clock.ts";
import { didYouMean } from "../lib/kernel/did-you-mean.ts";
import { parseDuration } from "../lib/kernel/duration.ts";
import { createRandom } from "../lib/kernel/random.ts";
import { parseUrl } from "../lib/kernel/url.ts";
import { version } from "../lib/kernel/version.ts";
import { listIn, UsageError } from "./arguments.ts";
import { connectionArgs, connectionOf, explainedError } from "./connection.ts";
import { command, type Given } from "./define-command.ts";
import { followEvents, type ServiceEvent } from "./event-stream.ts";
import { say } from "./output.ts";
import { exitOnSignal } from "./signals.ts";

const args: ArgsDef = {
  "forward-to": {
    type: "string",
    description: "The receiver's URL, such as localhost:3000/webhooks.",
    valueHint: "URL",
  },
  retries: {
    type: "string",
    description: "Post an event again after these delays, until a 2xx arrives, such as 30s,2m,10m,30m,2h (none).",
    valueHint: "DELAY,…",
  },
  events: {
    type: "string",
    description: "The events to forward, separated by commas (* for all).",
    valueHint: "NAME,…",
  },
  ...connectionArgs,
};

interface Result {
  /** A short text. */
  readonly result: string;
  readonly isAcknowledged: boolean;
}

/** Posts an event as a delivery. */
async function forward(
  to: string,
  { id, event, timestamp, data }: ServiceEvent,
  secret: string,
  attempt: number,
): Promise<Result> {
  const body = JSON.stringify({ event, timestamp, data });
  const headers = {
    "content-type": "application/json",
    "user-agent": `svc-server/${version()}`,
    "x-service-event": event,
    "x-service-delivery": id.replace(/^evt/, "dlv"),
    "x-service-attempt": String(attempt),
    "x-service-signature": signatureOf(secret, body),
  };
  try {
    const signal = AbortSignal.timeout(10_000);
    const response = await fetch(to, { method: "POST", headers, body, redirect: "manual", signal });
    await response.body?.cancel();
    return { result: String(response.status), isAcknowledged: response.ok };
  } catch (error) {
    const result = (error as Error).name === "TimeoutError" ? "no answer within 10 s" : "cannot be reached";
    return { result, isAcknowledged: false };
  }
}

/** The receiver's URL. `localhost:3000/webhooks` means plain http. */
function parseReceiver(text: string): string {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (text === "" || !/^https?:$/.test(parseUrl(url)?.protocol ?? ""))
    throw new UsageError("option --forward-to must be a URL such as http://localhost:3000/webhooks");
  return url;
}

/** The delays before the retries, in milliseconds. */
const parseRetries = (text: string): number[] =>
  listIn(text).map((one) => {
    const delay = parseDuration(one);
    if (delay === undefined)
      throw new UsageError(`option --retries must be durations such as 30s,2m,10m, not "${one}"`);
    return delay;
  });

/** The events to forward; undefined for all. */
function parseEvents(text: string): string[] | undefined {
  const known = Object.keys(catalog);
  const wanted = listIn(text);
  if (wanted.every((one) => one === "*")) return undefined;
  const wrong = wanted.find((one) => !known.includes(one));
  if (wrong !== undefined)
    throw new UsageError(
      `option --events: no event is called "${wrong}"${didYouMean(wrong, known) || `; the events are ${known.join(", ")}`}`,
    );
  return wanted;
}

/** Runs `work` after a delay. A system timer runs a minute at most, so longer delays use several. */
function after(wait: number, work: () => void): void {
  systemTimer(wait, () => (wait > 60_000 ? after(wait - 60_000, work) : work()));
}

async function run(given: Given): Promise<void> {
  const to = parseReceiver(String(given["forward-to"] ?? ""));
  const delays = given["retries"] === undefined ? [] : parseRetries(String(given["retries"]));
  const wanted = given["events"] === undefined ? undefined : parseEvents(String(given["events"]));
  const secret = process.env.SVC_WEBHOOK_SECRET || `whsec_${createRandom().alphanumeric(32)}`;
  const write = (about: object, words: string) => say(given["json"] ? JSON.stringify(about) : words);
  const connected = () =>
    write({ event: "forwarding", to, secret }, `Forwarding to ${to}, signed with ${secret}. Press Ctrl+C to stop.`);
  const post = async (serviceEvent: ServiceEvent, attempt = 1): Promise<void> => {
    const { id, event, timestamp } = serviceEvent;
    const { result, isAcknowledged } = await forward(to, serviceEvent, secret, attempt);
    const again = attempt === 1 ? "" : `  (attempt ${attempt})`;
    write({ event, id, timestamp, attempt, result }, `${timestamp}  ${event}  ${id}  ${result}${again}`);
    const delay = delays[attempt - 1];
    if (delay !== undefined && !isAcknowledged) after(delay, () => void post(serviceEvent, attempt + 1));
  };
  const { hostname } = new URL(to);
  if (!isLoopbackName(hostname) && !hostname.endsWith(".localhost"))
    process.stderr.write(`Warning: ${hostname} is another machine; event data will leave this one.\n`);
  exitOnSignal();
  const connection = connectionOf(given);
  try {
    for await (const serviceEvent of followEvents(connection, connected)) {
      if (wanted && !wanted.includes(serviceEvent.event)) continue;
      await post(serviceEvent);
    }
  } catch (error) {
    throw explainedError(error, connection);
  }
}

export const listen = command(
  "listen",
  "They are signed like deliveries, with SVC_WEBHOOK_SECRET or with a secret that is printed.",
  args,
  run,
);
