import * as v from "valibot";
import type { Outbox } from "../../features/deliveries/outbox.ts";
import { catalog, deliveredEvents } from "../../features/events/catalog.ts";
import type { Clock } from "../../kernel/clock.ts";
import { invalid } from "../../kernel/errors.ts";
import { didYouMean } from "../../kernel/text/did-you-mean.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import { checkArgument, record } from "../../kernel/validation.ts";
import type { ReceivedDeliveries, ReceivedDelivery } from "./received-deliveries.ts";

export interface WaitOptions {
  /** Only deliveries to the inbox with this name. */
  readonly endpoint?: string;
  readonly timeout?: string;
}

interface Ports {
  readonly clock: Clock;
  readonly clockControl: { settle(): Promise<unknown> };
  readonly closing: AbortController;
  readonly received: ReceivedDeliveries;
  readonly outbox: Pick<Outbox, "hasSubscriber">;
}

/** Any `timeout` passes here: `milliseconds` checks it. */
const waitOptions = record({
  endpoint: v.optional(v.string("must be a string")),
  timeout: v.optional(v.unknown(), "5s"),
});

/** Refuses a misspelt event, because no delivery would ever match it. */
function checkEvent(event: unknown): void {
  if (typeof event === "function" || event === "*" || deliveredEvents.some((name) => name === event)) return;
  const hint = didYouMean(String(event), deliveredEvents);
  throw invalid("event", `must be one of ${deliveredEvents.join(", ")}, * for any, or a function${hint}`);
}

/** See `webhooks.waitFor` of the instruments. */
export async function waitForDelivery(
  { received, clock, clockControl, closing, outbox }: Ports,
  event: string | ((delivery: ReceivedDelivery) => boolean),
  more: WaitOptions = {},
): Promise<ReceivedDelivery> {
  checkEvent(event);
  const { endpoint, timeout } = checkArgument(waitOptions, "more", more, '{ endpoint: "hook" }');
  const inbox = endpoint?.toLowerCase();
  const isWanted =
    typeof event === "function" ? event : (one: ReceivedDelivery) => event === "*" || one.event === event;
  const take = () => received.take((one) => (inbox === undefined || one.endpoint === inbox) && isWanted(one));
  const until = clock.now() + milliseconds(timeout);
  const name = typeof event === "string" ? event : "*";
  const failure = `no delivery${name === "*" ? "" : ` of ${name}`} was received`;
  /** The error, with a hint if waiting cannot help. A test event goes to any endpoint, all others to subscribers. */
  const explained = async (sentence: string) =>
    (await outbox.hasSubscriber(name in catalog ? name : "*"))
      ? new Error(sentence)
      : new Error(
          `${failure}, because no active webhook or integration listens for ${name === "*" ? "any event" : "it"}; create one first: POST /v1/webhooks {"url":"https://hook.inbox.test","events":["${name}"]}`,
        );
  const { signal } = closing;
  // The clock may be frozen during the wait, and a replaced state receives no more deliveries.
  while (clock.mode !== "manual" && !signal.aborted) {
    const found = take();
    if (found) return found;
    if (clock.now() >= until) throw await explained(`${failure} within ${timeout}`);
    await received.waitForNext(until, signal);
  }
  const found = take();
  if (found) return found;
  if (signal.aborted) throw new Error(`${failure} before the service was closed or a snapshot was restored`);
  await clockControl.settle();
  const due = take();
  if (due) return due;
  throw await explained(`${failure} by ${clock.iso()}, and nothing more is due; advance the clock, then wait for it`);
}
