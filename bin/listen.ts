import type { ArgsDef } from "citty";
import { catalog } from "../lib/features/events/catalog.ts";
import { isLoopbackName } from "../lib/http/hosts.ts";
import { createRandom } from "../lib/kernel/random.ts";
import { didYouMean } from "../lib/kernel/text/did-you-mean.ts";
import { parseDuration } from "../lib/kernel/text/duration.ts";
import { type EndedWith, listIn, UsageError } from "./arguments.ts";
import { connectionArgs, connectionOf, withClient } from "./connection.ts";
import { command, type Given, option } from "./define-command.ts";
import { followEvents, type ServiceEvent } from "./event-stream.ts";
import { sayToReader } from "./output.ts";
import { createReceiver, parseReceiver } from "./receiver.ts";
import { exitOnSignal } from "./signals.ts";
import { longTimer } from "./timers.ts";

const args: ArgsDef = {
  "forward-to": option("The receiver's URL, such as localhost:3000/webhooks, or only its port.", "URL|PORT"),
  retries: option(
    "Post an event again after these delays, until a 2xx arrives, such as 30s,2m,10m,30m,2h (none).",
    "DELAY,…",
  ),
  events: option("The events to forward, separated by commas (* for all).", "NAME,…"),
  ...connectionArgs,
};

const parseRetries = (text: string): number[] =>
  listIn(text).map((one) => {
    const delay = parseDuration(one);
    if (delay === undefined)
      throw new UsageError(`option --retries must be durations such as 30s,2m,10m, not "${one}"`);
    return delay;
  });

/** Undefined means all events. */
function parseEvents(text: string): string[] | undefined {
  const names = Object.keys(catalog);
  const wanted = listIn(text);
  if (wanted.every((one) => one === "*")) return undefined;
  const wrong = wanted.find((one) => !names.includes(one));
  if (wrong !== undefined)
    throw new UsageError(
      `option --events: no event is called "${wrong}"${didYouMean(wrong, names) || `; the events are ${names.join(", ")}`}`,
    );
  return wanted;
}

const warn = (sentence: string) => void process.stderr.write(`${sentence}\n`);

async function run(given: Given): Promise<void> {
  const to = parseReceiver(String(given["forward-to"] ?? ""));
  const delays = given["retries"] === undefined ? [] : parseRetries(String(given["retries"]));
  const wanted = given["events"] === undefined ? undefined : parseEvents(String(given["events"]));
  const secret = process.env.SVC_WEBHOOK_SECRET || `whsec_${createRandom().alphanumeric(32)}`;
  const receiver = createReceiver(to, secret);
  const write = (about: object, words: string) =>
    void sayToReader(given["json"] ? JSON.stringify(about) : words).catch(({ outcome }: EndedWith) => {
      if (outcome.message) process.stderr.write(outcome.message);
      process.exit(outcome.code);
    });
  const connected = () =>
    write({ event: "forwarding", to, secret }, `Forwarding to ${to}, signed with ${secret}. Press Ctrl+C to stop.`);
  const post = async (serviceEvent: ServiceEvent, attempt = 1): Promise<void> => {
    const { id, event, timestamp } = serviceEvent;
    const { result, isAcknowledged } = await receiver.post(serviceEvent, attempt);
    const again = attempt === 1 ? "" : `  (attempt ${attempt})`;
    write({ event, id, timestamp, attempt, result }, `${timestamp}  ${event}  ${id}  ${result}${again}`);
    const delay = delays[attempt - 1];
    if (delay !== undefined && !isAcknowledged) longTimer(delay, () => void post(serviceEvent, attempt + 1));
  };
  const { hostname } = new URL(to);
  if (!isLoopbackName(hostname) && !hostname.endsWith(".localhost"))
    warn(`Warning: ${hostname} is another machine; event data will leave this one.`);
  exitOnSignal();
  const connection = connectionOf(given);
  await withClient(connection, async () => {
    for await (const serviceEvent of followEvents(connection, connected, warn))
      if (!wanted || wanted.includes(serviceEvent.event)) await post(serviceEvent);
  });
}

export const listen = command(
  "listen",
  "They are signed like deliveries, with SVC_WEBHOOK_SECRET or with a secret that is printed.",
  args,
  run,
);
