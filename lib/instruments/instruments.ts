import * as v from "valibot";
import type { Features } from "../app/features.ts";
import type { Sink } from "../drivers/outbound/function-transport.ts";
import type { SimulatedOutcome } from "../drivers/simulated-outcome.ts";
import type { DeliveredEvent } from "../events/catalog.ts";
import type { Clock } from "../kernel/clock.ts";
import { check, checkArgument, record, refuseArguments, refuseArgumentsButContext } from "../kernel/validation.ts";
import type { SentMail } from "../mails/service.ts";
import type { NewScenario } from "../scenarios/schema.ts";
import type { Scenario } from "../scenarios/service.ts";
import { type DeliveryFork, inEveryOrder } from "./delivery-orders.ts";
import type { Faults, NewFault, StoredFault } from "./faults.ts";
import type { Caught, Inbox, InboxSettings } from "./inbox.ts";
import type { InboxAnswer } from "./inbox-script.ts";
import type { Journal, JournalEntry, JournalQuery } from "./journal.ts";
import type { ReceivedDeliveries, ReceivedDelivery } from "./received-deliveries.ts";
import { type WaitOptions, waitForDelivery } from "./wait-for-delivery.ts";

/** The part of a service that tests hold (`dev`). `Fork` is a whole service again. */
export interface Instruments<Fork> {
  /** Keeps deliveries to `https://NAME.inbox.test/…` in the process instead of sending them (`dev`). */
  readonly inbox: {
    /** The last 1,000 deliveries, oldest first; only those of the inbox `endpoint`, if it is given. */
    list(of?: { endpoint?: string }): Caught[];
    /** The inboxes that have scripted answers left, a receiver to forward to, or a function. */
    settings(): InboxSettings[];
    /** Removes the deliveries. Scripted answers stay. */
    clear(): void;
    /**
     * The next answers of the inbox NAME, in this order; after them it answers 200. Each is a status,
     * `{ status, headers, body }`, `{ timeout: true }` (fails after ten seconds of the service's clock) or `{ drop: true }`.
     */
    script(name: string, responses: readonly InboxAnswer[]): void;
  };
  /** The outcomes of simulated work; the first scenario that matches wins (`dev`). */
  readonly scenarios: {
    /** `{ match: { branch: "release-*" }, outcome: { result: "fail" }, times: 2 }`. Rejects with `validation_failed`. */
    add(scenario: NewScenario): Promise<Scenario>;
    /** For the very next deployment or generation, once, before all others: `next("deployment", { result: "fail" })`. */
    next(kind: "deployment" | "generation", outcome: SimulatedOutcome): Promise<Scenario>;
    /** All scenarios in their order, each with the number of times it was used. */
    list(): Promise<Scenario[]>;
    /** The scenarios that matched nothing so far. Closing the service logs a warning for each. */
    unused(): Promise<Scenario[]>;
    /** Rejects with `not_found` for an unknown scenario. */
    remove(id: string): Promise<void>;
    clear(): Promise<void>;
  };
  /** Faults of the interface itself; the first fault that matches a call applies (`dev`). */
  readonly faults: {
    /** `{ match: { path: "/v1/projects/*" }, respond: { status: 503, delay: "2s" }, times: 2 }`. Throws `validation_failed`. */
    add(fault: NewFault): StoredFault;
    /** All faults in their order, each with the number of times it was used. */
    list(): StoredFault[];
    /** Throws `not_found` for an unknown fault. */
    remove(id: string): void;
    clear(): void;
  };
  /** The mails of the service, such as invitations, oldest first, and how they went; each is kept for seven days (`dev`). */
  mails(): Promise<SentMail[]>;
  readonly journal: {
    /**
     * The last 1,000 requests, state changes, events and delivery attempts of each kind in one list, oldest first. The query
     * narrows it to one `kind`, or to entries `since` an instant or after the `seq` of an entry (`dev`).
     */
    list(query?: JournalQuery): JournalEntry[];
  };
  readonly deployments: {
    /**
     * Moves a deployment whose scenario has the pace `manual` or `polls` to its next state, and returns that state.
     * Rejects with `validation_failed` for any other pace, and for a deployment that has ended (`dev`).
     */
    step(id: string): Promise<string>;
  };
  readonly generations: {
    /** The same for a generation. */
    step(id: string): Promise<string>;
  };
  readonly webhooks: {
    /**
     * Answers deliveries to `https://NAME.inbox.test/…` with a function; it goes before scripted answers (`dev`). The function
     * must not await a call that advances or settles the clock: that call waits for this answer.
     */
    sink(name: string, answer: Sink): void;
    /**
     * Posts deliveries to `https://NAME.inbox.test/…` to a receiver on this machine, over plain http or https, until the URL
     * is null: `forward("shop", "http://localhost:3000/hooks")`. Its answer is the attempt's. It goes before functions and
     * scripted answers, and snapshots and forks have it. A `transport` gets these requests too, with this URL. Throws `validation_failed` for any address but loopback (`dev`).
     */
    forward(name: string, url: string | null): void;
    /**
     * Attempts each of these deliveries (`dlv_…`) once, now, one after the other in this order; an identifier that occurs
     * twice is sent twice. A delivery that succeeds is not sent again; a failure does not change its retries. Rejects with
     * `not_found` before the first attempt if one of them is unknown.
     */
    deliver(deliveries: readonly string[]): Promise<void>;
    /**
     * Returns the oldest delivery of this event that a receiver answered and no earlier call returned. `*` takes any
     * event; a function takes the deliveries that it accepts. Under a manual clock, it first runs all due work, and
     * rejects if no delivery arrived. Under any other clock, it waits for `timeout` of the service's clock (5 s).
     * Closing the service or restoring a snapshot ends the wait. Rejects with `validation_failed` for an unknown event.
     */
    waitFor<E extends DeliveredEvent | "*" = "*">(
      event: E | ((delivery: ReceivedDelivery) => boolean),
      more?: WaitOptions,
    ): Promise<ReceivedDelivery<E>>;
    /**
     * Delivers these (`dlv_…`, seven at most) in every order, each order on its own fork, and lets `check` look at the result.
     * Forks share sinks, so a sink that remembers its calls has to be reset in `check`. Rejects with the first order for
     * which `check` threw (`dev`).
     */
    deliverInEveryOrder(
      deliveries: readonly string[],
      check: (fork: Fork, order: readonly string[]) => void | Promise<void>,
    ): Promise<void>;
  };
}

/** The ports of a running state that the instruments work on. */
interface Ports {
  readonly mode: "dev" | "start";
  readonly clock: Clock;
  readonly clockControl: { settle(): Promise<unknown> };
  readonly closing: AbortController;
  readonly inbox: Inbox;
  readonly received: ReceivedDeliveries;
  readonly faults: Faults;
  readonly journal: Journal;
  readonly features: Pick<Features, "outbox" | "scenarios" | "deployments" | "generations" | "mails">;
}

const endpoint = v.optional(v.string("must be a string"));
const inboxFilter = record({ endpoint });
const aText = v.string("must be a string");
const stepped = record({ id: aText });
const deliveryList = record({ deliveries: v.array(aText) });

/** Throws in the mode `start`, which has no instruments. */
export function requireDev<P extends Pick<Ports, "mode">>(ports: P): P {
  if (ports.mode === "dev") return ports;
  throw new Error("instruments are for the mode dev, and this service runs in the mode start");
}

/** `at` answers the ports of the current state: a restore replaces it while tests hold their instruments. */
export function instruments<Fork extends DeliveryFork>(at: () => Ports, fork: () => Promise<Fork>): Instruments<Fork> {
  const scenarios = () => at().features.scenarios;
  return {
    inbox: {
      list: (of = {}) => at().inbox.list(checkArgument(inboxFilter, "of", of, '{ endpoint: "hook" }').endpoint),
      settings: () => at().inbox.settings(),
      clear(...given: unknown[]) {
        refuseArgumentsButContext("clear", given, "it removes the deliveries of all inboxes");
        at().inbox.clear();
      },
      script: (...given) => at().inbox.script(...given),
    },
    scenarios: {
      add: (scenario) => scenarios().add(scenario),
      next: (kind, outcome) => scenarios().add({ next: kind, outcome }),
      async list(...given: unknown[]) {
        refuseArguments("list", given, "it answers all scenarios");
        return scenarios().list();
      },
      async unused(...given: unknown[]) {
        refuseArguments("unused", given, "it answers all scenarios that matched nothing");
        return scenarios().unused();
      },
      remove: (id) => scenarios().remove(id),
      async clear(...given: unknown[]) {
        refuseArgumentsButContext("clear", given, "it removes all scenarios");
        await scenarios().clear();
      },
    },
    faults: {
      add: (fault) => at().faults.add(fault),
      list(...given: unknown[]) {
        refuseArguments("list", given, "it answers all faults");
        return at().faults.list();
      },
      remove: (id) => at().faults.remove(id),
      clear(...given: unknown[]) {
        refuseArgumentsButContext("clear", given, "it removes all faults");
        at().faults.clear();
      },
    },
    async mails(...given: unknown[]) {
      refuseArguments("mails", given, "it answers the mails of all organizations");
      return at().features.mails.all();
    },
    journal: { list: (query) => at().journal.list(query) },
    deployments: { step: async (id) => (await at().features.deployments.step(check(stepped, { id }).id)).status },
    generations: { step: async (id) => (await at().features.generations.step(check(stepped, { id }).id)).status },
    webhooks: {
      sink: (...given) => at().inbox.sink(...given),
      forward: (...given) => at().inbox.forward(...given),
      // The name of an event decides what its data is.
      waitFor: (event, more) =>
        waitForDelivery({ ...at(), outbox: at().features.outbox }, event, more) as Promise<never>,
      deliver: async (deliveries) => at().features.outbox.deliver(check(deliveryList, { deliveries }).deliveries),
      deliverInEveryOrder: async (deliveries, look) =>
        inEveryOrder(fork, check(deliveryList, { deliveries }).deliveries, look),
    },
  };
}
