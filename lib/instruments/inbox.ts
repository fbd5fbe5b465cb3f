import * as v from "valibot";
import { createFunctionTransport, type Sink } from "../drivers/outbound/function-transport.ts";
import type { Outbound, OutboundRequest, Sent } from "../drivers/outbound/outbound.ts";
import type { Snapshotable } from "../kernel/snapshotable.ts";
import { check } from "../kernel/validation.ts";
import { answers, type InboxAnswer, inboxName, sentFor } from "./inbox-script.ts";
import { createSinks, type Sinks } from "./sinks.ts";

/** A delivery to an inbox, as its receiver saw it. */
export interface Caught {
  /** The NAME of `https://NAME.inbox.test/…`; under the option `strict`, of any other URL the host. */
  readonly endpoint: string;
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The raw text that the signature covers. */
  readonly body: string;
  readonly received_at: string;
  /** The response, in the form of a script; null until a function has answered, and where it failed. */
  response: InboxAnswer | null;
}

/** Older deliveries are dropped. */
const maxCaught = 1000;

/** The NAME of `https://NAME.inbox.test/…`; undefined for any other URL. */
export const inboxOf = (url: string): string | undefined =>
  URL.canParse(url) ? /^([^.]+)\.inbox\.test$/.exec(new URL(url).hostname)?.[1] : undefined;

export interface Inbox extends Outbound, Snapshotable {
  /** From now on a function answers the deliveries to `https://NAME.inbox.test/…`; it goes before any script. */
  sink(name: string, answer: Sink): void;
  /** The deliveries, oldest first; of one inbox, or of all. */
  list(endpoint?: string): Caught[];
  /** Forgets all deliveries; scripts and functions stay. */
  clear(): void;
  /** The next answers of an inbox, in this order; after them it answers 200. */
  script(name: string, responses: readonly InboxAnswer[]): void;
}

interface Saved {
  readonly caught: readonly Caught[];
  readonly scripts: ReadonlyMap<string, readonly InboxAnswer[]>;
}

const sinkCall = v.object({
  name: inboxName,
  answer: v.custom<Sink>((given) => typeof given === "function", "must be a function: (request) => response"),
});
const scriptCall = v.object({ name: inboxName, responses: answers });

interface InboxOptions {
  readonly transport?: Sink | undefined;
  /** Whether deliveries to any host are caught, under its name. */
  readonly strict?: boolean;
  readonly now: () => string;
  readonly sinks?: Sinks;
}

/**
 * Catches deliveries to `https://NAME.inbox.test/…` in the process. All others go through `transport`, where the options
 * name one, or over the network. `sinks` are no part of a snapshot: they stay when one is restored.
 */
export function createInbox(network: Outbound, options: InboxOptions): Inbox {
  const { transport, strict, now, sinks = createSinks() } = options;
  const functions = createFunctionTransport(now);
  let caught: Caught[] = [];
  let scripts = new Map<string, readonly InboxAnswer[]>();

  const nextAnswer = (name: string): InboxAnswer => {
    const [next = 200, ...rest] = scripts.get(name) ?? [];
    scripts.set(name, rest);
    return next;
  };

  const receive = async (endpoint: string, request: OutboundRequest): Promise<Sent> => {
    const { url, headers, body } = request;
    const sink = sinks.get(endpoint);
    const response = sink ? null : nextAnswer(endpoint);
    const delivery: Caught = { endpoint, method: "POST", url, headers, body, received_at: now(), response };
    caught.push(delivery);
    if (caught.length > maxCaught) caught.shift();
    if (!sink) return sentFor(response ?? 200, Date.parse(now()));
    const sent = await functions.send(sink, request);
    delivery.response = sent.status;
    return sent;
  };

  const copies = (name?: string) =>
    caught
      .filter(({ endpoint }) => name === undefined || endpoint === name.toLowerCase())
      .map((delivery) => ({ ...delivery }));

  return {
    sink(name, answer) {
      const given = check(sinkCall, { name, answer });
      sinks.set(given.name, given.answer);
    },
    list: copies,
    clear() {
      caught = [];
    },
    script(name, responses) {
      const given = check(scriptCall, { name, responses });
      scripts.set(given.name, given.responses);
    },
    send(request) {
      const name = inboxOf(request.url);
      if (name !== undefined) return receive(name, request);
      if (transport) return functions.send(transport, request);
      return strict ? receive(new URL(request.url).hostname, request) : network.send(request);
    },
    callBackend: (request) => (transport ? functions.callBackend(transport, request) : network.callBackend(request)),
    checkUrl: async (url) => (inboxOf(url) !== undefined || transport ? undefined : network.checkUrl(url)),
    async close() {
      functions.close();
      await network.close();
    },
    save: (): Saved => ({ caught: copies(), scripts: new Map(scripts) }),
    load(state) {
      const saved = state as Saved;
      caught = saved.caught.map((delivery) => ({ ...delivery }));
      scripts = new Map(saved.scripts);
    },
  };
}
