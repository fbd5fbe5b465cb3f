import { lookup } from "node:dns/promises";
import { type ClientRequest, Agent as PlainAgent, request as startPlain } from "node:http";
import { Agent, type RequestOptions, request as start } from "node:https";
import type { Duplex } from "node:stream";
import { createClock } from "../../kernel/clock.ts";
import { milliseconds } from "../../kernel/duration.ts";
import { isAllowed, parseAllow, type Target, targetOf } from "./addresses.ts";
import { type BackendAnswer, type BackendRequest, questioned, urlOf } from "./backend-request.ts";
import { faultOf } from "./failure-reasons.ts";
import { type Call, exchange, failed, type Outcome, retryAfter } from "./http-request.ts";
import { type Cut, createRunning, unless } from "./request-timeout.ts";
import { checkedDestination, type Destination, destinationOf } from "./target.ts";

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
  ask(question: BackendRequest): Promise<BackendAnswer>;
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

const refusals = {
  start: "must lead to public addresses only, and to those that the operator opens (option outbound.allow)",
  dev: "must lead to public, private or loopback addresses, and to no link-local or metadata address",
} as const;

const mostSockets = 32;
const mostIdle = 256;
const idleFor = "15s";

/** Keeps connections alive, by address, port and name; of idle ones the newest `mostIdle`. */
class Pool extends Agent {
  readonly #idle = new Set<Duplex>();
  readonly #known = new WeakSet<Duplex>();

  /** Node asks for it three times a request, and would write out every option of TLS, which are all the same here. */
  override getName({ host, port, servername }: RequestOptions = {}): string {
    return `${host}:${port}:${servername}`;
  }

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

const resolveAll: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

/** A name is asked for once at a time: Node's lookup waits on one of the few threads that files need as well. */
function addressesBy(resolve: Resolve): Resolve {
  const asked = new Map<string, Promise<readonly string[]>>();
  return (host) => {
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
  const running = createRunning();
  const tls = { rejectUnauthorized: mode === "start", ...(ca ? { ca: [...ca] } : {}) };
  const idle = { keepAlive: true, maxFreeSockets: mostSockets, timeout: milliseconds(idleFor) };
  const pool = new Pool({ ...tls, ...idle });
  // A connection of its own, which no other request has used or will use.
  const fresh = new Agent({ ...tls, keepAlive: false });
  // A key of the operator's goes along with a question, so that a certificate is looked at in the mode dev too.
  const trusting = new Agent({ ...tls, rejectUnauthorized: true, keepAlive: false });
  let closed = false;

  const outcomeOf = async (
    work: (cut: Cut) => Promise<Outcome> | Outcome,
    signal: AbortSignal | undefined,
    most = limit,
  ): Promise<Outcome> => {
    if (closed) return failed("shutting down");
    const { cut, over } = running.begin(most, signal);
    try {
      return await work(cut);
    } catch (error) {
      return failed(typeof error === "string" ? error : faultOf(error));
    } finally {
      over();
    }
  };

  const addressesFor = ({ address, host }: Destination, cut: Cut): Promise<readonly string[]> | readonly string[] =>
    address === undefined ? unless(cut, addressesOf(host)) : [address];

  /** Calls the addresses of a name, once all of them are known to be open: the next one where nothing was connected. */
  const reach = async (
    to: Destination,
    cut: Cut,
    mayOpen: (address: string) => boolean,
    attempt: (address: string, patience: number | undefined) => Promise<Outcome>,
  ): Promise<Outcome> => {
    const addresses = await addressesFor(to, cut);
    if (!addresses.every(mayOpen)) return failed("address_not_allowed");
    let outcome = failed("name not found");
    const last = addresses.at(-1);
    for (const address of addresses) {
      outcome = await attempt(address, address === last ? undefined : limit / 4);
      if (outcome.but !== "next" || cut.done) break;
    }
    return outcome;
  };

  const isOpen = (target: Target) => (address: string) => isAllowed(mode, allowed, address, target);

  const deliver = ({ url, headers, body }: OutboundRequest, cut: Cut): Promise<Outcome> | Outcome => {
    const to = checkedDestination(url);
    if ("problem" in to) return failed(`the URL ${to.problem}`);
    return reach(to, cut, isOpen(to), async (address, patience) => {
      const call: Call = { method: "POST", to, headers, body, agent: pool, cut, address, patience };
      const outcome = await exchange(start, call);
      // Deliveries are at least once, so one that may have been read without an answer is sent again.
      return outcome.but === "stale" ? exchange(start, { ...call, agent: fresh }) : outcome;
    });
  };

  /** On a connection of its own: what costs money must not be sent again because an idle one was closed. */
  const answer = (question: BackendRequest, cut: Cut): Promise<Outcome> | Outcome => {
    const { method, headers, body = "", most } = question;
    const url = urlOf(question.url);
    if (!url) return failed("not a URL");
    const to = destinationOf(url);
    const targets = question.trusted.map((origin) => targetOf(new URL(origin)));
    const own = { ranges: allowed.ranges, targets: [...allowed.targets, ...targets] };
    const agent = to.secure ? trusting : new PlainAgent();
    const mayOpen = (address: string) => isAllowed("start", own, address, to);
    return reach(to, cut, mayOpen, (address, patience) =>
      exchange(to.secure ? start : startPlain, { method, to, headers, body, agent, cut, most, address, patience }),
    );
  };

  return {
    async send(request) {
      const begun = clock.now();
      const { status, error, response, retry_after } = await outcomeOf((cut) => deliver(request, cut), request.signal);
      const ended = clock.now();
      const retry_after_ms = retryAfter(retry_after, ended);
      const sent = { status, error, response, duration_ms: Math.max(0, ended - begun) };
      return retry_after_ms === undefined ? sent : { ...sent, retry_after_ms };
    },

    ask: async (question) =>
      questioned(await outcomeOf((cut) => answer(question, cut), question.signal, question.timeout_ms), clock.now()),

    async judge(text) {
      const to = checkedDestination(text);
      if ("problem" in to) return to.problem;
      const { cut, over } = running.begin(limit);
      const addresses = await Promise.resolve(addressesFor(to, cut))
        .catch(() => [])
        .finally(over);
      return addresses.every(isOpen(to)) ? undefined : refusals[mode];
    },

    async close() {
      closed = true;
      running.cut("shutting down");
      pool.destroy();
    },
  };
}
