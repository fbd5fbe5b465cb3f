import * as v from "valibot";
import type { BackendRequest } from "../../drivers/outbound/backend-request.ts";
import { createFunctionTransport, type Sink } from "../../drivers/outbound/function-transport.ts";
import type { Outbound, OutboundRequest, Sent } from "../../drivers/outbound/outbound.ts";
import { hostPortOf } from "../../drivers/outbound/target.ts";
import type { Log } from "../../kernel/log.ts";
import { parseUrl } from "../../kernel/text/url.ts";
import { type Networks, noNetworks } from "../../kernel/trusted-networks.ts";
import { check } from "../../kernel/validation.ts";
import { answers, forwardTo, type InboxAnswer, inboxName, sentFor } from "./inbox-script.ts";
import type { Sinks } from "./sinks.ts";

/** A delivery to an inbox, as its receiver saw it. */
export interface Caught {
  /** The NAME of `https://NAME.inbox.test/…`; the host if the delivery went to a public address. */
  readonly endpoint: string;
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The raw text covered by the signature. */
  readonly body: string;
  readonly received_at: string;
  /** The response, in the form of a script. Null until a function or a receiver has responded, and if it failed. */
  response: InboxAnswer | null;
}

/** How an inbox responds to its next deliveries. */
export interface InboxSettings {
  readonly endpoint: string;
  /** The scripted responses that are left. */
  readonly responses: readonly InboxAnswer[];
  /** The receiver on this machine to forward to. It has precedence over functions and scripts. */
  readonly forward: string | null;
  /** Whether a function responds. It has precedence over the script. */
  readonly has_sink: boolean;
}

/** The scripted responses of an inbox that no delivery got. */
export type UnusedAnswers = Pick<InboxSettings, "endpoint" | "responses">;

/** Older deliveries are dropped. */
const maxCaught = 1000;

/** The NAME of `https://NAME.inbox.test/…`; undefined for any other URL. */
export const inboxOf = (url: string): string | undefined =>
  /^([^.]+)\.inbox\.test$/.exec(parseUrl(url)?.hostname ?? "")?.[1];

export const hostOf = (url: string): string => hostPortOf(new URL(url)).host;

export type Inbox = ReturnType<typeof createInbox>;

interface Ports {
  readonly network: Outbound;
  /** Sends all outbound requests, if the option is set. */
  readonly transport?: Sink | undefined;
  readonly now: () => string;
  readonly log: Pick<Log, "warn">;
  /** Not part of a snapshot: sinks stay when a snapshot is restored. */
  readonly sinks: Sinks;
  /** The networks with receivers that inboxes may forward to. */
  readonly trustNetwork?: Networks;
}

interface Saved {
  readonly caught: readonly Caught[];
  readonly scripts: ReadonlyMap<string, readonly InboxAnswer[]>;
  readonly forwards: ReadonlyMap<string, string>;
}

const sinkCall = v.object({
  name: inboxName,
  answer: v.custom<Sink>((given) => typeof given === "function", "must be a function: (request) => response"),
});
const scriptCall = v.object({ name: inboxName, responses: answers });
const forwardCall = v.object({ name: inboxName, forward: forwardTo });

/** Catches deliveries to `https://NAME.inbox.test/…` and those that must not leave. Sends all others. */
export function createInbox({ network, transport, now, log, sinks, trustNetwork: trusted = noNetworks }: Ports) {
  const functions = createFunctionTransport(now);
  let caught: Caught[] = [];
  let scripts = new Map<string, readonly InboxAnswer[]>();
  let forwards = new Map<string, string>();
  /** The inboxes whose script came with a snapshot. */
  const inherited = new Set<string>();
  /** Hosts that were already logged. */
  const named = new Set<string>();

  const nextAnswer = (name: string): InboxAnswer => {
    const [next = 200, ...rest] = scripts.get(name) ?? [];
    scripts.set(name, rest);
    return next;
  };

  const send = (request: OutboundRequest) => (transport ? functions.send(transport, request) : network.send(request));

  const record = (endpoint: string, { url, headers, body }: OutboundRequest, response: InboxAnswer | null): Caught => {
    const delivery: Caught = { endpoint, method: "POST", url, headers, body, received_at: now(), response };
    caught.push(delivery);
    if (caught.length > maxCaught) caught.shift();
    return delivery;
  };

  const receive = async (endpoint: string, request: OutboundRequest): Promise<Sent> => {
    const forward = forwards.get(endpoint);
    const sink = sinks.get(endpoint);
    if (forward === undefined && !sink) {
      const response = nextAnswer(endpoint);
      record(endpoint, request, response);
      return sentFor(response, Date.parse(now()));
    }
    const delivery = record(endpoint, request, null);
    const sent = await (sink && forward === undefined
      ? functions.send(sink, request)
      : send({ ...request, url: forward ?? "", isForwarded: true }));
    delivery.response = sent.status;
    return sent;
  };

  /** Catches a delivery to a public address. */
  const catchOutside = (request: OutboundRequest): Sent => {
    const host = hostOf(request.url);
    if (!named.has(host))
      log.warn(
        `deliveries to ${host} are caught in the inbox and answered 200, because dev does not deliver to public addresses; use --send (option outbound.send) to allow it`,
      );
    named.add(host);
    record(host, request, 200);
    return { ...sentFor(200, Date.parse(now())), isOutside: true };
  };

  const copies = (name?: string): Caught[] =>
    caught
      .filter(({ endpoint }) => name === undefined || endpoint === name.toLowerCase())
      .map((delivery) => ({ ...delivery }));

  return {
    /** Sets the function that responds to deliveries to `https://NAME.inbox.test/…`. It has precedence over scripts. */
    sink(name: string, answer: Sink): void {
      const given = check(sinkCall, { name, answer });
      sinks.set(given.name, given.answer);
    },
    /** The deliveries of one inbox or of all, oldest first. */
    list: copies,
    /** Deletes all deliveries; scripts and functions stay. */
    clear(): void {
      caught = [];
    },
    /** Sets the next responses of an inbox, in order. After them it responds with 200. */
    script(name: string, responses: readonly InboxAnswer[]): void {
      const given = check(scriptCall, { name, responses });
      scripts.set(given.name, given.responses);
      inherited.delete(given.name);
    },
    /** The scripted responses that no delivery got; with `own`, without those of a fork's parent. */
    unused: (own = false): UnusedAnswers[] =>
      [...scripts].flatMap(([endpoint, responses]) =>
        responses.length === 0 || (own && inherited.has(endpoint)) ? [] : [{ endpoint, responses }],
      ),
    /** Forwards the deliveries of an inbox to a receiver on this machine, and uses its responses; null stops it. */
    forward(name: string, url: string | null): void {
      const given = check(forwardCall, { name, forward: url }, { trusted });
      if (given.forward === null) forwards.delete(given.name);
      else forwards.set(given.name, given.forward);
    },
    /** Every inbox that has settings. */
    settings(): InboxSettings[] {
      const scripted = [...scripts].flatMap(([name, { length }]) => (length > 0 ? [name] : []));
      const names = [...new Set([...scripted, ...forwards.keys(), ...sinks.names()])].sort();
      return names.map((endpoint) => ({
        endpoint,
        responses: scripts.get(endpoint) ?? [],
        forward: forwards.get(endpoint) ?? null,
        has_sink: sinks.get(endpoint) !== undefined,
      }));
    },
    async send(request: OutboundRequest): Promise<Sent> {
      const name = inboxOf(request.url);
      if (name !== undefined) return receive(name, request);
      const sent = await send(request);
      return sent.isOutside ? catchOutside(request) : sent;
    },
    callBackend: (request: BackendRequest) =>
      transport ? functions.callBackend(transport, request) : network.callBackend(request),
    checkUrl: async (url: string) => (inboxOf(url) !== undefined || transport ? undefined : network.checkUrl(url)),
    async close() {
      functions.close();
      await network.close();
    },
    save: (): unknown => ({ caught: copies(), scripts: new Map(scripts), forwards: new Map(forwards) }) satisfies Saved,
    load(state: unknown): void {
      const saved = state as Saved;
      caught = saved.caught.map((delivery) => ({ ...delivery }));
      scripts = new Map(saved.scripts);
      inherited.clear();
      for (const name of scripts.keys()) inherited.add(name);
      forwards = new Map(saved.forwards);
    },
  };
}
