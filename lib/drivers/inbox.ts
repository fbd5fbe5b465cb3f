import * as v from "valibot";
import { check } from "../kernel/api.ts";
import { machineTimer } from "../kernel/clock.ts";
import type { Part } from "../kernel/part.ts";
import type { Question } from "./asking.ts";
import { retryAfter } from "./exchange.ts";
import type { Outbound, OutboundRequest, Sent } from "./outbound.ts";
import { remembered } from "./remembered.ts";
import { answers, type InboxAnswer, inboxName, sentOf } from "./scripted.ts";

/** Answers a delivery in the process: a test's receiver, without a socket. */
export type Sink = (request: Request) => Response | Promise<Response>;

/** How much of an answer is read, and how much of it is kept with a try. */
const read = 64 * 1024;
const kept = 1024;

/** The beginning of an answer, and no more of it than that. */
async function beginning(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done && size < read; part = await reader?.read()) {
    chunks.push(part.value);
    size += part.value.length;
  }
  await reader?.cancel();
  return Buffer.concat(chunks).subarray(0, kept).toString("utf8").replaceAll("\u0000", "\ufffd").toWellFormed();
}

/** What goes out through a function instead of a socket, with the same limits: ten seconds, no redirects. */
async function through(sink: Sink, { url, headers, body, signal }: OutboundRequest, now: () => string): Promise<Sent> {
  let cancel = () => {};
  const abort = new AbortController();
  const late = new Promise<never>((_, reject) => {
    const stop = (reason: unknown) => {
      reject(new Error(String(reason)));
      abort.abort();
    };
    if (signal?.aborted) stop(signal.reason);
    signal?.addEventListener("abort", () => stop(signal.reason));
    cancel = machineTimer("10s", () => stop("timeout after 10 s"));
  });
  late.catch(() => {});
  const answer = async (): Promise<Sent> => {
    const request = new Request(url, { method: "POST", headers, body, redirect: "manual", signal: abort.signal });
    const response = await sink(request);
    const { status, headers: answered } = response;
    const retry_after_ms = retryAfter(answered.get("retry-after") ?? undefined, Date.parse(now()));
    return { status, error: null, response: await beginning(response), duration_ms: 0, retry_after_ms };
  };
  try {
    return await Promise.race([answer(), late]);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { status: null, error: reason, response: null, duration_ms: 0 };
  } finally {
    cancel();
  }
}

/** The same for a backend, whose answer is wanted whole. */
async function answered(sink: Sink, { method, url, headers, body, signal }: Question, now: number) {
  const none = { status: null, bytes: Buffer.alloc(0), retry_after_ms: undefined };
  try {
    const request = new Request(url, {
      method,
      headers,
      body: body ?? null,
      redirect: "manual",
      signal: signal ?? null,
    });
    const response = await sink(request);
    const retry_after_ms = retryAfter(response.headers.get("retry-after") ?? undefined, now);
    const bytes = Buffer.from(await response.arrayBuffer());
    return { status: response.status, error: null, bytes, retry_after_ms };
  } catch (error) {
    return { ...none, error: error instanceof Error ? error.message : String(error) };
  }
}

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
export const inboxOf = remembered((url): string | undefined =>
  URL.canParse(url) ? /^([^.]+)\.inbox\.test$/.exec(new URL(url).hostname)?.[1] : undefined,
);

export interface Inbox extends Outbound, Part {
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

const named = v.object({ name: inboxName });
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
    const sent = await through(sink, request, now);
    entry.response = sent.status;
    return sent;
  };

  const copies = (endpoint?: string) =>
    caught.filter((one) => endpoint === undefined || one.endpoint === endpoint).map((one) => ({ ...one }));

  return {
    sink: (name, answer) => void sinks.set(check(named, { name }).name, answer),
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
      return transport ? through(transport, request, now) : network.send(request);
    },
    ask: (question) => (transport ? answered(transport, question, Date.parse(now())) : network.ask(question)),
    judge: async (url) => (inboxOf(url) !== undefined || transport ? undefined : network.judge(url)),
    close: () => network.close(),
    save: (): Kept => ({ caught: copies(), scripts: new Map(scripts) }),
    load(kept) {
      const before = kept as Kept;
      caught = before.caught.map((one) => ({ ...one }));
      scripts = new Map(before.scripts);
    },
  };
}
