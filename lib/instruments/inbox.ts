import * as v from "valibot";
import { createFunctions, type Sink } from "../drivers/outbound/function-transport.ts";
import { memoize } from "../drivers/outbound/memoize.ts";
import type { Outbound, OutboundRequest, Sent } from "../drivers/outbound/outbound.ts";
import type { Snapshotable } from "../kernel/snapshotable.ts";
import { check } from "../kernel/validation.ts";
import { answers, type InboxAnswer, inboxName, sentOf } from "./inbox-script.ts";

/** A delivery that stayed in the process, as its receiver saw it. */
export interface Caught {
  /** The NAME of `https://NAME.inbox.test/…`. */
  readonly endpoint: string;
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The raw text that the signature covers. */
  readonly body: string;
  readonly received_at: string;
  /** What was answered, as it could be scripted; null while a function has not answered yet, or where it failed. */
  response: InboxAnswer | null;
}

/** How many deliveries are kept: the newest. */
const mostCaught = 1000;

/** The inbox that a URL leads to; undefined where it leads out of the process. */
export const inboxOf = memoize((url): string | undefined =>
  URL.canParse(url) ? /^([^.]+)\.inbox\.test$/.exec(new URL(url).hostname)?.[1] : undefined,
);

export interface Inbox extends Outbound, Snapshotable {
  /** Answers what is sent to `https://NAME.inbox.test/…` by a function, before anything that is scripted. */
  sink(name: string, answer: Sink): void;
  /** What was caught, oldest first. */
  list(endpoint?: string): Caught[];
  /** Forgets what was caught; what is scripted stays. */
  clear(): void;
  /** The answers that an inbox gives next, in this order; without any it answers 200. */
  script(name: string, responses: readonly InboxAnswer[]): void;
}

interface Kept {
  readonly caught: readonly Caught[];
  readonly scripts: ReadonlyMap<string, readonly InboxAnswer[]>;
}

const sunk = v.object({
  name: inboxName,
  answer: v.custom<Sink>((given) => typeof given === "function", "must be a function: (request) => response"),
});
const scripted = v.object({ name: inboxName, responses: answers });

/**
 * What is sent to `https://NAME.inbox.test/…` stays in the process. Everything else goes through `transport`, where one
 * is given, or over the network. `sinks` are no state: they stay when one is brought back.
 */
export function createInbox(
  network: Outbound,
  transport: Sink | undefined,
  now: () => string,
  sinks: Map<string, Sink> = new Map(),
): Inbox {
  const functions = createFunctions(now);
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
    const entry: Caught = { endpoint, method: "POST", url, headers, body, received_at: now(), response };
    caught.push(entry);
    if (caught.length > mostCaught) caught.shift();
    if (!sink) return sentOf(response ?? 200, Date.parse(now()));
    const sent = await functions.send(sink, request);
    entry.response = sent.status;
    return sent;
  };

  const copies = (endpoint?: string) =>
    caught
      .filter((one) => endpoint === undefined || one.endpoint === endpoint.toLowerCase())
      .map((one) => ({ ...one }));

  return {
    sink(name, answer) {
      const given = check(sunk, { name, answer });
      sinks.set(given.name, given.answer);
    },
    list: copies,
    clear() {
      caught = [];
    },
    script(name, responses) {
      const given = check(scripted, { name, responses });
      scripts.set(given.name, given.responses);
    },
    send(request) {
      const name = inboxOf(request.url);
      if (name !== undefined) return receive(name, request);
      return transport ? functions.send(transport, request) : network.send(request);
    },
    ask: (question) => (transport ? functions.ask(transport, question) : network.ask(question)),
    judge: async (url) => (inboxOf(url) !== undefined || transport ? undefined : network.judge(url)),
    async close() {
      functions.close();
      await network.close();
    },
    save: (): Kept => ({ caught: copies(), scripts: new Map(scripts) }),
    load(kept) {
      const before = kept as Kept;
      caught = before.caught.map((one) => ({ ...one }));
      scripts = new Map(before.scripts);
    },
  };
}
