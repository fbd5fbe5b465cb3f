import type { Assembled } from "./assemble.ts";
import type { Caught, Sink } from "./drivers/inbox.ts";
import type { InboxAnswer } from "./drivers/scripted.ts";

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
  readonly webhooks: {
    /** Answers in the process what is sent to `https://NAME.inbox.test/…`, before what is scripted (`dev`). */
    sink(name: string, answer: Sink): void;
    /**
     * Makes one try of each of these deliveries (`dlv_…`) now, one after the other in this order: one that is named twice
     * arrives twice. What arrives is not sent again; a failure leaves the retries of a delivery as they are.
     */
    deliver(deliveries: readonly string[]): Promise<void>;
  };
}

/** Throws in the mode `start`, which has no instruments. */
export function instruments({ mode, inbox, features }: Assembled): Instruments {
  if (mode !== "dev") throw new Error("this is an instrument of the mode dev, and the service runs in the mode start");
  return {
    inbox: { list: ({ endpoint } = {}) => inbox.list(endpoint), clear: inbox.clear, script: inbox.script },
    webhooks: {
      sink: inbox.sink,
      async deliver(deliveries) {
        for (const id of deliveries) await features.outbox.deliver(id);
      },
    },
  };
}
