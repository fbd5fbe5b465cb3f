import * as v from "valibot";
import type { Sink } from "../../drivers/outbound/function-transport.ts";
import type { SimulatedOutcome } from "../../drivers/simulated-outcome.ts";
import type { Outbox } from "../../features/deliveries/outbox.ts";
import type { DeploymentsService } from "../../features/deployments/service.ts";
import type { DeliveredEvent } from "../../features/events/catalog.ts";
import type { GenerationsService } from "../../features/generations/service.ts";
import type { MailsService, SentMail } from "../../features/mails/service.ts";
import type { NewScenario } from "../../features/scenarios/schema.ts";
import type { Scenario, ScenariosService } from "../../features/scenarios/service.ts";
import type { Clock } from "../../kernel/clock.ts";
import { check, checkArgument, record, refuseArguments, refuseArgumentsButContext } from "../../kernel/validation.ts";
import { type DeliveryFork, inEveryOrder } from "./delivery-orders.ts";
import type { Faults, NewFault, StoredFault } from "./faults.ts";
import type { Caught, Inbox, InboxSettings, UnusedAnswers } from "./inbox.ts";
import type { InboxAnswer } from "./inbox-script.ts";
import type { Journal, JournalEntry, JournalQuery } from "./journal.ts";
import type { ReceivedDeliveries, ReceivedDelivery } from "./received-deliveries.ts";
import { type WaitOptions, waitForDelivery } from "./wait-for-delivery.ts";

/** The handles on a service for tests (mode `dev`). `Fork` is a complete service. */
export interface Instruments<Fork> {
  /** Keeps deliveries to `https://NAME.inbox.test/…` in the process instead of sending them (`dev`). */
  readonly inbox: {
    /** The last 1,000 deliveries, oldest first; with `endpoint`, only those of that inbox. */
    readonly list: (of?: { endpoint?: string }) => Caught[];
    /** The inboxes that have scripted responses left, a receiver to forward to, or a function. */
    readonly settings: () => InboxSettings[];
    /** The scripted responses that no delivery got. With `strict`, any of them makes the close reject. */
    readonly unused: () => UnusedAnswers[];
    /** Deletes the deliveries. Scripted responses stay. */
    readonly clear: () => void;
    /**
     * Sets the next responses of the inbox NAME, in order. After them it responds with 200. Each is a status, `{
     * status, headers, body }`, `{ timeout: true }` (fails after ten seconds of the service's clock) or `{ drop: true
     * }`.
     */
    readonly script: (name: string, responses: readonly InboxAnswer[]) => void;
  };
  /** The outcomes of simulated work; the first matching scenario wins (`dev`). */
  readonly scenarios: {
    /** `{ match: { branch: "release-*" }, outcome: { result: "fail" }, times: 2 }`. Rejects with `validation_failed`. */
    readonly add: (scenario: NewScenario) => Promise<Scenario>;
    /**
     * Applies once, to the very next deployment or generation, before all others: `next("deployment", { result: "fail"
     * })`.
     */
    readonly next: (kind: "deployment" | "generation", outcome: SimulatedOutcome) => Promise<Scenario>;
    /** All scenarios in order, each with the number of times it was used. */
    readonly list: () => Promise<Scenario[]>;
    /** The scenarios that have matched nothing so far. Closing the service logs a warning for each. */
    readonly unused: () => Promise<Scenario[]>;
    /** Rejects with `not_found` for an unknown scenario. */
    readonly remove: (id: string) => Promise<void>;
    readonly clear: () => Promise<void>;
  };
  /** Faults of the API; the first fault that matches a call applies (`dev`). */
  readonly faults: {
    /** `{ match: { path: "/v1/projects/*" }, respond: { status: 503, delay: "2s" }, times: 2 }`. Throws `validation_failed`. */
    readonly add: (fault: NewFault) => StoredFault;
    /** All faults in order, each with the number of times it was used. */
    readonly list: () => StoredFault[];
    /** The faults that no call has met. With `strict`, any of them makes the close reject. */
    readonly unused: () => StoredFault[];
    /** Throws `not_found` for an unknown fault. */
    readonly remove: (id: string) => void;
    readonly clear: () => void;
  };
  /**
   * The mails of the service, such as invitations, oldest first, with the result of each. Kept for seven days (`dev`).
   */
  readonly mails: () => Promise<SentMail[]>;
  readonly journal: {
    /**
     * The last 1,000 requests, state changes, events and delivery attempts each, in one list, oldest first. The query
     * narrows it to one `kind`, or to entries `since` an instant or after the `seq` of an entry (`dev`).
     */
    readonly list: <K extends JournalEntry["kind"] = JournalEntry["kind"]>(
      query?: JournalQuery & { readonly kind?: K | undefined },
    ) => Extract<JournalEntry, { kind: K }>[];
  };
  readonly deployments: {
    /**
     * Moves a deployment whose scenario has the pace `manual` or `polls` to its next state, and returns that state.
     * Rejects with `validation_failed` for any other pace, and for a deployment that has ended (`dev`).
     */
    readonly step: (id: string) => Promise<string>;
  };
  readonly generations: {
    /** Like `deployments.step`, for a generation. */
    readonly step: (id: string) => Promise<string>;
  };
  readonly webhooks: {
    /**
     * Sets a function that responds to deliveries to `https://NAME.inbox.test/…`. It has precedence over scripted
     * responses (`dev`). The function must not await a call that advances or settles the clock: that call waits for
     * this response.
     */
    readonly sink: (name: string, answer: Sink) => void;
    /**
     * Forwards deliveries to `https://NAME.inbox.test/…` to a receiver on this machine, over plain http or https:
     * `forward("shop", "http://localhost:3000/hooks")`. A null URL stops it. The receiver's response becomes the result
     * of the attempt. Forwarding has precedence over functions and scripted responses; snapshots and forks keep it. A
     * `transport` gets these requests too, with this URL. Throws `validation_failed` for any address but loopback
     * (`dev`).
     */
    readonly forward: (name: string, url: string | null) => void;
    /**
     * Attempts each of these deliveries (`dlv_…`) once, now, one after another in this order; an identifier that occurs
     * twice is sent twice. A delivery that succeeds is not sent again; a failure does not change its retries. Rejects
     * with `not_found` before the first attempt if any of them is unknown.
     */
    readonly deliver: (deliveries: readonly string[]) => Promise<void>;
    /**
     * Returns the oldest delivery of this event that a receiver has responded to and no earlier call has returned. `*`
     * matches any event; a function matches the deliveries it accepts. Under a manual clock, it first runs all due
     * work, and rejects if no delivery arrived. Under any other clock, it waits up to `timeout` of the service's clock
     * (5 s). Closing the service or restoring a snapshot ends the wait. Rejects with `validation_failed` for an unknown
     * event.
     */
    readonly waitFor: <E extends DeliveredEvent | "*" = "*">(
      event: E | ((delivery: ReceivedDelivery) => boolean),
      more?: WaitOptions,
    ) => Promise<ReceivedDelivery<E>>;
    /**
     * Delivers these (`dlv_…`, at most seven) in every order, each order on its own fork, and passes the result to
     * `check`. Forks share sinks, so `check` has to reset a sink that remembers its calls. Rejects with the first order
     * for which `check` threw (`dev`).
     */
    readonly deliverInEveryOrder: (
      deliveries: readonly string[],
      check: (fork: Fork, order: readonly string[]) => void | Promise<void>,
    ) => Promise<void>;
  };
}

interface Ports {
  readonly mode: "dev" | "start";
  readonly clock: Clock;
  readonly clockControl: { settle(): Promise<unknown> };
  readonly closing: AbortController;
  readonly inbox: Inbox;
  readonly received: ReceivedDeliveries;
  readonly faults: Faults;
  readonly journal: Journal;
  readonly features: {
    readonly outbox: Outbox;
    readonly scenarios: ScenariosService;
    readonly deployments: DeploymentsService;
    readonly generations: GenerationsService;
    readonly mails: MailsService;
  };
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

/**
 * `at` returns the ports of the current state, because a restore replaces the state while tests keep their instruments.
 */
export function instruments<Fork extends DeliveryFork>(at: () => Ports, fork: () => Promise<Fork>): Instruments<Fork> {
  const scenarios = () => at().features.scenarios;
  return {
    inbox: {
      list: (of = {}) => at().inbox.list(checkArgument(inboxFilter, "of", of, '{ endpoint: "hook" }').endpoint),
      settings: () => at().inbox.settings(),
      unused(...given: unknown[]) {
        refuseArguments("unused", given, "it answers the scripted responses of all inboxes that no delivery got");
        return at().inbox.unused();
      },
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
      unused(...given: unknown[]) {
        refuseArguments("unused", given, "it answers all faults that no call has met");
        return at().faults.unused();
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
    // The query has chosen the kind.
    journal: { list: (query) => at().journal.list(query) as never },
    deployments: { step: async (id) => (await at().features.deployments.step(check(stepped, { id }).id)).status },
    generations: { step: async (id) => (await at().features.generations.step(check(stepped, { id }).id)).status },
    webhooks: {
      sink: (...given) => at().inbox.sink(...given),
      forward: (...given) => at().inbox.forward(...given),
      // The type of the data follows from the name of the event.
      waitFor: (event, more) =>
        waitForDelivery({ ...at(), outbox: at().features.outbox }, event, more) as Promise<never>,
      deliver: async (deliveries) => at().features.outbox.deliver(check(deliveryList, { deliveries }).deliveries),
      deliverInEveryOrder: async (deliveries, look) =>
        inEveryOrder(fork, check(deliveryList, { deliveries }).deliveries, look),
    },
  };
}
