import * as v from "valibot";
import type { Service } from "../app/service-facade.ts";
import type { Wiring } from "../app/wiring.ts";
import type { Sink } from "../drivers/outbound/function-transport.ts";
import type { SimulatedOutcome } from "../drivers/simulated-outcome.ts";
import { milliseconds } from "../kernel/duration.ts";
import { checkArgument, record } from "../kernel/validation.ts";
import type { NewScenario } from "../scenarios/schema.ts";
import type { Scenario } from "../scenarios/service.ts";
import { inEveryOrder } from "./delivery-orders.ts";
import type { NewFault, StoredFault } from "./faults.ts";
import type { Caught } from "./inbox.ts";
import type { InboxAnswer } from "./inbox-script.ts";
import type { JournalEntry, JournalQuery } from "./journal.ts";
import type { ReceivedDelivery } from "./received-deliveries.ts";

/** What a tester holds of a service in the mode `dev`. */
export interface Instruments {
  /** Where deliveries to `https://NAME.inbox.test/…` stay, instead of being sent (`dev`). */
  readonly inbox: {
    /** What was caught, oldest first, the last 1,000 of it; of one NAME, where that is given. */
    list(of?: { endpoint?: string }): Caught[];
    /** Forgets what was caught. What is scripted stays. */
    clear(): void;
    /**
     * What NAME answers next, in this order, and 200 after that: a status, `{ status, headers, body }`,
     * `{ timeout: true }` (a failure ten seconds of the service's clock later) or `{ drop: true }`.
     */
    script(name: string, responses: readonly InboxAnswer[]): void;
  };
  /** How simulated work turns out; the first one that fits wins (`dev`). */
  readonly scenarios: {
    /** `{ match: { branch: "release-*" }, outcome: { result: "fail" }, times: 2 }`; throws where it is wrong. */
    add(scenario: NewScenario): Promise<Scenario>;
    /** The very next deployment or generation, once, before all others: `next("deployment", { result: "fail" })`. */
    next(kind: "deployment" | "generation", outcome: SimulatedOutcome): Promise<Scenario>;
    /** All of them, in their order, with how often each was used. */
    list(): Promise<Scenario[]>;
    /** Those that nothing fitted so far; what is among them at the service's end is logged as a warning. */
    unused(): Promise<Scenario[]>;
    clear(): Promise<void>;
  };
  /** What goes wrong with the interface itself; the first one that fits is met (`dev`). */
  readonly faults: {
    /** `{ match: { path: "/v1/projects/*" }, respond: { status: 503, delay: "2s" }, times: 2 }`; throws where it is wrong. */
    add(fault: NewFault): StoredFault;
    /** All of them, in their order, with how often each was met. */
    list(): StoredFault[];
    clear(): void;
  };
  readonly journal: {
    /**
     * The last 1,000 requests, state changes, events and tries of each kind on one axis, oldest first: those of one `kind`,
     * or those `since` an instant or after an entry's `seq` (`dev`).
     */
    list(query?: JournalQuery): JournalEntry[];
  };
  readonly deployments: {
    /**
     * Moves a deployment whose scenario has the pace `manual` or `polls` by one state; answers the state. Rejects with
     * `validation_failed` for one of another pace, and for one that has ended (`dev`).
     */
    step(id: string): Promise<string>;
  };
  readonly generations: {
    /** The same for a generation. */
    step(id: string): Promise<string>;
  };
  readonly webhooks: {
    /**
     * Answers in the process what is sent to `https://NAME.inbox.test/…`, before what is scripted (`dev`). It must not await
     * what moves or settles the clock, which waits for this answer.
     */
    sink(name: string, answer: Sink): void;
    /**
     * Makes one try of each of these deliveries (`dlv_…`) now, one after the other in this order: one that is named twice
     * arrives twice. What arrives is not sent again; a failure leaves the retries of a delivery as they are. Rejects with
     * `not_found` before the first try where one of them is unknown.
     */
    deliver(deliveries: readonly string[]): Promise<void>;
    /**
     * The oldest delivery of this event (`*`: of any; or what a function accepts) that a receiver answered and that no
     * earlier call was given. Under a manual clock what is due is run first, and it rejects where none has come by then;
     * under any other clock it waits for `timeout` of the service's clock (5 s). Closing the service and bringing another
     * state back end the waiting.
     */
    waitFor(event: string | ((delivery: ReceivedDelivery) => boolean), more?: WaitFor): Promise<ReceivedDelivery>;
    /**
     * Delivers these (`dlv_…`, seven at most) in every order, each on a fork of its own, and lets `check` look at what came
     * of it. Sinks are shared with forks: one that remembers has to begin anew in `check`. Rejects with the first order in
     * which `check` threw (`dev`).
     */
    deliverInEveryOrder(
      deliveries: readonly string[],
      check: (fork: Service, order: readonly string[]) => void | Promise<void>,
    ): Promise<void>;
  };
}

interface WaitFor {
  /** Of one NAME only. */
  readonly endpoint?: string;
  readonly timeout?: string;
}

const endpoint = v.optional(v.string("must be a string"));
const caughtOf = record({ endpoint });
/** What is no duration is refused where it is read. */
const bounds = record({ endpoint, timeout: v.optional(v.unknown(), "5s") });

async function waitFor(
  { arrivals, time, clock, life }: Wiring,
  event: string | ((delivery: ReceivedDelivery) => boolean),
  more: WaitFor = {},
): Promise<ReceivedDelivery> {
  const { endpoint, timeout } = checkArgument(bounds, "more", more, '{ endpoint: "hook" }');
  const patience = milliseconds(timeout);
  const wanted = typeof event === "function" ? event : (one: ReceivedDelivery) => event === "*" || one.event === event;
  const isOf = (one: ReceivedDelivery) => endpoint === undefined || one.endpoint === endpoint.toLowerCase();
  const take = () => arrivals.take((one) => isOf(one) && wanted(one));
  const until = clock.now() + patience;
  const what = `no delivery${typeof event === "string" && event !== "*" ? ` of ${event}` : ""} was received`;
  const left = life.closing.signal;
  // A clock may be frozen meanwhile, and a state that was left receives nothing more.
  while (clock.mode !== "manual" && !left.aborted) {
    const found = take();
    if (found) return found;
    if (clock.now() >= until) throw new Error(`${what} within ${timeout}`);
    await arrivals.waitForNext(until, left);
  }
  const found = take();
  if (found) return found;
  if (left.aborted) throw new Error(`${what} before the service was closed, or another state was brought back`);
  await time.settle();
  const due = take();
  if (due) return due;
  throw new Error(`${what} by ${clock.iso()}, and nothing more is due; advance the clock, then wait for it`);
}

/** Throws in the mode `start`, which has no instruments. */
export function instruments(parts: Wiring, fork: () => Promise<Service>): Instruments {
  const { mode, inbox, faults, journal, features } = parts;
  const { outbox, scenarios, deployments, generations } = features;
  if (mode !== "dev") throw new Error("this is an instrument of the mode dev, and the service runs in the mode start");
  return {
    inbox: {
      list: (of = {}) => inbox.list(checkArgument(caughtOf, "of", of, '{ endpoint: "hook" }').endpoint),
      clear: inbox.clear,
      script: inbox.script,
    },
    scenarios: {
      add: scenarios.add,
      next: (kind, outcome) => scenarios.add({ next: kind, outcome }),
      list: scenarios.list,
      unused: scenarios.unused,
      async clear() {
        await scenarios.clear();
      },
    },
    faults: { add: faults.add, list: faults.list, clear: faults.clear },
    journal: { list: journal.list },
    deployments: { step: async (id) => (await deployments.step(id)).status },
    generations: { step: async (id) => (await generations.step(id)).status },
    webhooks: {
      sink: inbox.sink,
      waitFor: (event, more) => waitFor(parts, event, more),
      deliver: outbox.deliver,
      deliverInEveryOrder: (deliveries, check) => inEveryOrder(fork, deliveries, check),
    },
  };
}
