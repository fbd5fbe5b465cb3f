import { createClock } from "../../kernel/clock.ts";
import { untilAborted } from "../../kernel/node/abort.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import { type Networks, noNetworks } from "../../kernel/trusted-networks.ts";
import { type AddressChoice, allIf, onlyNear, outside } from "./address-choice.ts";
import { isAllowed, isClosed, isLoopback, isPrivateAddress, parseAllow } from "./address-policy.ts";
import { type BackendRequest, type BackendResponse, backendResponse } from "./backend-request.ts";
import { createConnectionPool } from "./connection-pool.ts";
import { failureReason } from "./failure-reasons.ts";
import { createRequestSender, failed, type HttpResult } from "./http-request.ts";
import { parseRetryAfter } from "./http-response.ts";
import { createRequestsInFlight, requestTimeout_ms } from "./request-timeout.ts";
import { createHostResolver, type ResolveHost } from "./resolve-host.ts";
import {
  deliveryTarget,
  type HostPort,
  hostPortOf,
  mustBeTrusted,
  nearTarget,
  parseHttpUrl,
  type Target,
  targetOf,
} from "./target.ts";

/** A POST to send. `send` adds Content-Length and Host. */
export interface OutboundRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The receiver must be on this machine or in a trusted network. Its URL may be plain http. */
  readonly isForwarded?: boolean;
  /** Cancels the request; its reason becomes the error. */
  readonly signal?: AbortSignal | undefined;
  /** The event of this delivery, which links traces to its cause. */
  readonly event_id?: string;
}

/**
 * The result of a request. With a status, `error` is null, even if the body broke off or timed out: "A delivery attempt
 * fails if no `2xx` arrives within 10 seconds", and the status has arrived. Without a response, `status` and `response`
 * are null. `response` is at most the first 1 KiB of the body as text.
 */
export interface Sent {
  readonly status: number | null;
  readonly error: string | null;
  readonly response: string | null;
  readonly duration_ms: number;
  /** From the receiver's `Retry-After`; undefined if it is missing or malformed. */
  readonly retry_after_ms?: number | undefined;
  /** Set by a scripted timeout: how long, on the service's clock, the attempt stays open before it ends so. */
  readonly open_ms?: number;
  /** Nothing was sent because the address is public (option `confined`). */
  readonly isOutside?: boolean;
}

export interface Outbound {
  /** Never rejects. */
  send(request: OutboundRequest): Promise<Sent>;
  /** Never rejects. */
  callBackend(request: BackendRequest): Promise<BackendResponse>;
  /** The rule that this URL breaks; undefined if none. A name need not resolve: every attempt looks it up again. */
  checkUrl(url: string): Promise<string | undefined>;
  /** Cancels the requests in flight and closes all connections. */
  close(): Promise<void>;
}

export interface OutboundOptions {
  readonly mode: "dev" | "start";
  readonly allow?: readonly string[];
  /** Receivers in these networks may use plain http. */
  readonly trusted?: Networks;
  /** Deliveries reach only this machine, private networks and the addresses in `allow`. Backends are not restricted. */
  readonly confined?: boolean;
  readonly resolve?: ResolveHost;
  /** The time limit of a request, from the lookup to the end of the response. 10 s by default, a minute at most. */
  readonly timeout?: string;
  /** PEM certificates to trust instead of Node's built-in ones. */
  readonly ca?: readonly string[];
}

/** Which addresses of a target to try, and how to look up its name. */
interface Way {
  readonly choose: AddressChoice;
  readonly lookUp?: ResolveHost;
}

/** One sentence for all cases: an error must not reveal to callers which addresses a name has inside a network. */
const addressRules = {
  start:
    "must lead to public addresses only, and to those that the operator opens (option outbound.allow), never to link-local or metadata addresses",
  dev: "must lead to public, private or loopback addresses, never to link-local or metadata addresses",
} as const;

/** The only HTTP sender. Resolves names, checks addresses, connects to a checked one, and enforces the timeout. */
export function createOutbound(options: OutboundOptions): Outbound {
  const { mode, confined = false, trusted = noNetworks } = options;
  const limit_ms = options.timeout === undefined ? requestTimeout_ms : milliseconds(options.timeout);
  if (limit_ms > 60_000)
    throw new Error(`the timeout of outbound requests must be a minute at most, not ${options.timeout}`);
  const allowed = parseAllow([...(options.allow ?? []), ...trusted.names]);
  const isTrusted = (address: string) => !isClosed(address) && trusted.has(address);
  const { resolve, noneAfter } = createHostResolver(options.resolve);
  const clock = createClock("real");
  const requests = createRequestsInFlight();
  const sendRequest = createRequestSender();
  const pool = createConnectionPool(mode, options.ca);
  let closed = false;

  /** Runs a request within its timeout. A thrown error becomes the result's error. */
  const run = async (
    work: (signal: AbortSignal) => Promise<HttpResult> | HttpResult,
    given: AbortSignal | undefined,
    timeout_ms: number,
  ): Promise<HttpResult> => {
    if (closed) return failed("shutting down");
    const { signal, finish } = requests.start(timeout_ms, given);
    try {
      return await work(signal);
    } catch (error) {
      return failed(typeof error === "string" ? error : failureReason(error));
    } finally {
      finish();
    }
  };

  /** For confined deliveries. Limited, because lookups on a machine without a network may take a minute. */
  const resolveOrNone = noneAfter(limit_ms / 4);

  const addressesOf = async ({ address, host }: Target, signal: AbortSignal, lookUp = resolve) =>
    address === undefined ? untilAborted(signal, () => lookUp(host)) : [address];

  /** Tries the chosen addresses in turn until one connects. */
  const tryAddresses = async (
    target: Target,
    signal: AbortSignal,
    { choose, lookUp }: Way,
    attempt: (address: string, connectTimeout_ms: number | undefined) => Promise<HttpResult>,
  ): Promise<HttpResult> => {
    const chosen = choose(await addressesOf(target, signal, lookUp));
    if ("status" in chosen) return chosen;
    let result = failed("name not found");
    const last = chosen.at(-1);
    for (const address of chosen) {
      result = await attempt(address, address === last ? undefined : limit_ms / 4);
      if (result.retry !== "next_address" || signal.aborted) break;
    }
    return result;
  };

  const isOpenFor = (target: HostPort) => (address: string) => isAllowed(mode, allowed, address, target);

  const wayTo = (target: Target, isForwarded: boolean): Way => {
    if (isForwarded) return { choose: allIf((address) => isLoopback(address) || isTrusted(address)) };
    if (!target.secure) return { choose: allIf(isTrusted) };
    return confined
      ? { choose: onlyNear(allowed, target), lookUp: resolveOrNone }
      : { choose: allIf(isOpenFor(target)) };
  };

  const deliver = (
    { url, headers, body, isForwarded = false }: OutboundRequest,
    signal: AbortSignal,
  ): Promise<HttpResult> | HttpResult => {
    const target = isForwarded ? nearTarget(url, trusted) : deliveryTarget(url, trusted);
    if ("problem" in target) return failed(`the URL ${target.problem}`);
    const way = wayTo(target, isForwarded);
    return tryAddresses(target, signal, way, async (address, connectTimeout_ms) => {
      const agent = target.secure ? pool.secure().keepAlive : pool.plain;
      const request = {
        method: "POST",
        target,
        headers,
        body,
        agent,
        signal,
        address,
        // In dev the tester both reads the error and runs the receiver.
        namesAddress: mode === "dev" && isPrivateAddress(address),
        connectTimeout_ms,
      } as const;
      const result = await sendRequest(request);
      // Deliveries are at least once, so a request is resent if the receiver may have read it but did not respond.
      return result.retry === "new_connection" ? sendRequest({ ...request, agent: pool.secure().single }) : result;
    });
  };

  /** Uses a new connection: a request that costs money must not be resent because an idle connection was closed. */
  const callBackend = (
    { method, url: text, headers, body = "", max_bytes, trustedOrigins, isOfCaller = false }: BackendRequest,
    signal: AbortSignal,
  ): Promise<HttpResult> | HttpResult => {
    const url = parseHttpUrl(text);
    if (!url) return failed("not a URL");
    const target = targetOf(url);
    const trusted = trustedOrigins.map((origin) => hostPortOf(new URL(origin)));
    const withTrusted = { ranges: allowed.ranges, targets: [...allowed.targets, ...trusted] };
    const isOpen = (address: string) => isAllowed(isOfCaller ? mode : "start", withTrusted, address, target);
    const agent = pool.forBackend(target.secure);
    return tryAddresses(target, signal, { choose: allIf(isOpen) }, (address, connectTimeout_ms) =>
      sendRequest({ method, target, headers, body, agent, signal, max_bytes, address, connectTimeout_ms }),
    );
  };

  return {
    async send(request) {
      const started = clock.now();
      const result = await run((signal) => deliver(request, signal), request.signal, limit_ms);
      if (result === outside) return { status: null, error: null, response: null, duration_ms: 0, isOutside: true };
      const { status, error, response, retry_after } = result;
      const ended = clock.now();
      const retry_after_ms = parseRetryAfter(retry_after, ended);
      const sent = { status, error, response, duration_ms: Math.max(0, ended - started) };
      return retry_after_ms === undefined ? sent : { ...sent, retry_after_ms };
    },

    async callBackend(request) {
      const result = await run((signal) => callBackend(request, signal), request.signal, request.timeout_ms);
      return backendResponse(result, clock.now());
    },

    async checkUrl(text) {
      const target = deliveryTarget(text, trusted);
      if ("problem" in target) return target.problem;
      const { signal, finish } = requests.start(limit_ms);
      const addresses = await addressesOf(target, signal, confined ? resolveOrNone : resolve)
        .catch(() => [])
        .finally(finish);
      if (addresses.some(isClosed)) return addressRules[mode];
      if (!target.secure) return addresses.every(isTrusted) ? undefined : mustBeTrusted(trusted);
      return confined || addresses.every(isOpenFor(target)) ? undefined : addressRules[mode];
    },

    async close() {
      closed = true;
      requests.abortAll("shutting down");
      pool.close();
    },
  };
}
