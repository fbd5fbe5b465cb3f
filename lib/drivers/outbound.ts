import { lookup } from "node:dns/promises";
import { type ClientRequest, Agent as PlainAgent, request as startPlain } from "node:http";
import { Agent, type RequestOptions, request as start } from "node:https";
import type { Duplex } from "node:stream";
import { createClock } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import { isAllowed, literal, parseAllow, targetOf } from "./addresses.ts";
import { longTimer, type Question, questioned, type Reply, urlOf } from "./asking.ts";
import { type Call, exchange, failed, type Outcome, retryAfter } from "./exchange.ts";
import { faultOf } from "./faults.ts";

/** A POST to send. Its length and its Host are written here. */
export interface OutboundRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Cuts the request off; its reason becomes the error. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What came of it. An answer is a status, and `error` is null then, even where the body broke off or took too long:
 * "A delivery attempt fails if no `2xx` arrives within 10 seconds", and it has arrived. Without one, `status` and
 * `response` are null. `response` is at most the first 1 KiB of the body as text.
 */
export interface Sent {
  readonly status: number | null;
  readonly error: string | null;
  readonly response: string | null;
  readonly duration_ms: number;
  /** What the receiver asks for in `Retry-After`; undefined where it asks for nothing that can be understood. */
  readonly retry_after_ms?: number | undefined;
  /** Scripted: the try is still open, and will have come to this so much later on the service's clock. */
  readonly open_ms?: number;
}

export interface Outbound {
  /** Never rejects. */
  send(request: OutboundRequest): Promise<Sent>;
  /** Never rejects. For backends that an operator has named: whole answers, of any origin that the question trusts. */
  ask(question: Question): Promise<Reply>;
  /** A sentence where this URL must not be stored. A name that does not resolve may be: every try looks it up again. */
  judge(url: string): Promise<string | undefined>;
  /** Ends what is under way, and all connections. */
  close(): Promise<void>;
}

type Resolve = (host: string) => Promise<readonly string[]>;

export interface OutboundOptions {
  readonly mode: "dev" | "start";
  readonly allow?: readonly string[];
  readonly resolve?: Resolve;
  /** For everything together, from the name to the end of the answer; a minute at most. */
  readonly timeout?: string;
  /** Certificates to trust instead of those that come with Node, as PEM. */
  readonly ca?: readonly string[];
}

const longestUrl = 2048;

/** CONTRACT section 6: "`https://`, at most 2,048 characters, no credentials in them". */
export function checkUrl(text: string): { href: string } | { problem: string } {
  // SPEC: "Webhook url not starting with `https://`"; the URL parser would take `https:\\host` and a tab inside as well.
  if (!/^https:\/\//i.test(text)) return { problem: "must begin with https://" };
  const long = { problem: `must have at most ${longestUrl.toLocaleString("en")} characters` };
  if (text.length > longestUrl) return long;
  if (!URL.canParse(text)) return { problem: "must be a URL such as https://example.com/hook" };
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return { problem: "must not have credentials in it" };
  return url.href.length > longestUrl ? long : { href: url.href };
}

const refusals = {
  start: "must lead to public addresses only",
  dev: "must lead to public, private or loopback addresses, and to no link-local or metadata address",
} as const;

const mostHeaders = 16 * 1024;
const mostSockets = 32;
const mostIdle = 256;
const idleFor = "15s";

/** Keeps connections alive, by address, port and name (that is what Agent calls them by); of idle ones the newest `mostIdle`. */
class Pool extends Agent {
  readonly #idle = new Set<Duplex>();
  readonly #known = new WeakSet<Duplex>();

  override keepSocketAlive(socket: Duplex): unknown {
    if (!this.#known.has(socket)) socket.once("close", () => this.#idle.delete(socket));
    this.#known.add(socket);
    this.#idle.add(socket);
    const [oldest] = this.#idle;
    if (this.#idle.size > mostIdle) oldest?.destroy();
    return super.keepSocketAlive(socket);
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#idle.delete(socket);
    super.reuseSocket(socket, request);
  }
}

const inWords = (ms: number) => (ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`);

/** Settles as `work` does, unless the signal comes first. */
const unless = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    work.then(resolve, reject);
  });

const resolveAll: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

/** A name is asked for once at a time: Node's lookup waits on one of the few threads that files need as well. */
function addressesBy(resolve: Resolve): Resolve {
  const asked = new Map<string, Promise<readonly string[]>>();
  return (host) => {
    const itself = literal(host);
    if (itself !== undefined) return Promise.resolve([itself]);
    const answer = asked.get(host) ?? resolve(host).finally(() => asked.delete(host));
    asked.set(host, answer);
    return answer;
  };
}

/** The one place that sends HTTP: it resolves, checks, connects to what was checked, and takes no longer than `timeout`. */
export function createOutbound(given: OutboundOptions): Outbound {
  const { mode, ca } = given;
  const limit = milliseconds(given.timeout ?? "10s");
  if (limit > 60_000)
    throw new Error(`the timeout of outbound requests must be a minute at most, not ${given.timeout}`);
  const allowed = parseAllow(given.allow ?? []);
  const addressesOf = addressesBy(given.resolve ?? resolveAll);
  const clock = createClock("real");
  const running = new Set<AbortController>();
  const own = { rejectUnauthorized: mode === "start", maxHeaderSize: mostHeaders, ...(ca ? { ca: [...ca] } : {}) };
  const pool = new Pool({ keepAlive: true, maxFreeSockets: mostSockets, timeout: milliseconds(idleFor) });
  const kept: RequestOptions = { ...own, agent: pool };
  // A connection of its own, which no other request has used or will use.
  const fresh: RequestOptions = { ...own, agent: new Agent({ keepAlive: false }) };
  let closed = false;

  /** Gives `work` as long as everything together may take. The signal's reason is what becomes the error. */
  const timed = async <T>(work: (signal: AbortSignal) => Promise<T>, given?: AbortSignal, most = limit): Promise<T> => {
    const control = new AbortController();
    const cut = () => control.abort(given?.reason);
    if (given?.aborted) cut();
    given?.addEventListener("abort", cut);
    const cancel = longTimer(most, () => control.abort(`timeout after ${inWords(most)}`));
    running.add(control);
    try {
      return await work(control.signal);
    } finally {
      cancel();
      given?.removeEventListener("abort", cut);
      running.delete(control);
    }
  };

  const isOpen = (url: URL) => (address: string) => isAllowed(mode, allowed, address, targetOf(url));

  /** Calls the addresses of a name, once all of them are known to be open: the next one where nothing was connected. */
  const reach = async (
    call: Omit<Call, "address" | "patience">,
    mayOpen: (address: string) => boolean,
    attempt: (call: Call) => Promise<Outcome>,
  ): Promise<Outcome> => {
    const addresses = await unless(call.signal, addressesOf(targetOf(call.url).host));
    if (!addresses.every(mayOpen)) return failed("address_not_allowed");
    let outcome = failed("name not found");
    for (const [index, address] of addresses.entries()) {
      const patience = index + 1 < addresses.length ? limit / 4 : undefined;
      outcome = await attempt({ ...call, address, patience });
      if (outcome.but !== "next" || call.signal.aborted) break;
    }
    return outcome;
  };

  const deliver = async (request: OutboundRequest, signal: AbortSignal): Promise<Outcome> => {
    const { headers, body } = request;
    const checked = checkUrl(request.url);
    if ("problem" in checked) return failed(`the URL ${checked.problem}`);
    const url = new URL(checked.href);
    return reach({ method: "POST", url, headers, body, options: kept, signal }, isOpen(url), async (call) => {
      const outcome = await exchange(start, call);
      // Deliveries are at least once, so one that may have been read without an answer is sent again.
      return outcome.but === "stale" ? exchange(start, { ...call, options: fresh }) : outcome;
    });
  };

  /** On a connection of its own: what costs money must not be sent again because an idle one was closed. */
  const answer = async (question: Question, signal: AbortSignal): Promise<Outcome> => {
    const { method, headers, body = "", most } = question;
    const url = urlOf(question.url);
    if (!url) return failed("not a URL");
    const targets = question.trusted.map((origin) => targetOf(new URL(origin)));
    const own = { ranges: allowed.ranges, targets: [...allowed.targets, ...targets] };
    // A key of the operator's goes along, so that a certificate is looked at in the mode dev too.
    const plain = url.protocol === "http:";
    const options = plain ? { agent: new PlainAgent() } : { ...fresh, rejectUnauthorized: true };
    const mayOpen = (address: string) => isAllowed("start", own, address, targetOf(url));
    return reach({ method, url, headers, body, options, signal, most }, mayOpen, (call) =>
      exchange(plain ? startPlain : start, call),
    );
  };

  return {
    async send(request) {
      const begun = clock.now();
      const outcome = closed
        ? failed("shutting down")
        : await timed((signal) => deliver(request, signal), request.signal).catch((error) =>
            failed(typeof error === "string" ? error : faultOf(error)),
          );
      const { status, error, response } = outcome;
      const retry_after_ms = retryAfter(outcome.retry_after, clock.now());
      const asked = retry_after_ms === undefined ? {} : { retry_after_ms };
      return { status, error, response, duration_ms: Math.max(0, clock.now() - begun), ...asked };
    },

    ask: async (question) =>
      questioned(
        closed
          ? failed("shutting down")
          : await timed((signal) => answer(question, signal), question.signal, question.timeout_ms).catch((error) =>
              failed(typeof error === "string" ? error : faultOf(error)),
            ),
        clock.now(),
      ),

    async judge(text) {
      const checked = checkUrl(text);
      if ("problem" in checked) return checked.problem;
      const url = new URL(checked.href);
      const found = timed((signal) => unless(signal, addressesOf(targetOf(url).host)));
      const addresses = await found.catch(() => []);
      return addresses.every(isOpen(url)) ? undefined : refusals[mode];
    },

    async close() {
      closed = true;
      for (const control of running) control.abort("shutting down");
      pool.destroy();
    },
  };
}
