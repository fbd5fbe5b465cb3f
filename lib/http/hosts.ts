import { Problem } from "../kernel/errors.ts";
import { type Networks, noNetworks } from "../kernel/networks.ts";
import { parseUrl } from "../kernel/url.ts";
import type { RequestContext } from "./request-context.ts";

const loopback = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/** The name in a `Host` header or URL, without its port, in lower case. */
const hostname = (host: string): string => host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");

/** A `Host` has an IPv6 address in brackets; elsewhere it has none. */
const bracketed = (host: string): string =>
  /^[^[\]]*:[^[\]]*:/.test(host) ? `[${host.toLowerCase()}]` : hostname(host);

/** `localhost` or a loopback address, as a URL writes it. */
export const isLoopbackName = (name: string): boolean => loopback.test(name);

/** Whether other machines cannot reach what listens on this host. */
export const isLoopbackHost = (host: string): boolean => isLoopbackName(bracketed(host));

/** The hosts that this service answers to. */
export interface Hosts {
  add(host: string): void;
  /** Whether the service answers to this `Host` header. */
  knows(host: string | undefined): boolean;
  /** Throws 421 for any other host. */
  check(host: string | undefined): void;
}

/**
 * Loopback names, the host of the public URL, the option `hosts`, and the addresses that the service listens on. A page
 * whose name was pointed at this machine (DNS rebinding) must not reach the service.
 */
export function createHosts(known: readonly string[]): Hosts {
  const names = new Set(known.map(bracketed));
  /**
   * The last accepted host is cached: with lazy queries, GET takes 0.945 of the processor time (`npm run bench -- http`).
   */
  let last: string | undefined;
  const knows = (host: string | undefined) => {
    if (host !== undefined && host === last) return true;
    const name = hostname(host ?? "");
    // No host has a port beyond 65535, or an address such as 127.999.0.1.
    const isKnown = (isLoopbackName(name) || names.has(name)) && parseUrl(`http://${host}`) !== undefined;
    if (isKnown) last = host;
    return isKnown;
  };
  return {
    add: (host) => void names.add(bracketed(host)),
    knows,
    check(host) {
      if (knows(host)) return;
      throw new Problem(
        "misdirected_request",
        "this service does not accept the Host of the request; use its own address, or add the host to the option hosts",
      );
    },
  };
}

/**
 * The reason to refuse a request for the routes without a key; undefined if it may pass. They are open in process, over
 * a loopback address with a loopback name (whatever other hosts are known), and to trusted networks with any known
 * name.
 */
function obstacle({ incoming, header }: RequestContext, trusted: Networks): string | undefined {
  if (!incoming) return undefined;
  // A proxy forwards requests from anywhere. Its headers reveal a proxy that the options do not name.
  const forwarded = ["X-Forwarded-For", "Forwarded"].find((name) => header(name.toLowerCase()) !== undefined);
  if (forwarded) return `a proxy has forwarded this request (${forwarded}); send it to the service's own address`;
  const address = incoming.socket.remoteAddress ?? "";
  if (trusted.has(address)) return undefined;
  if (!/^(::ffff:)?127\.|^::1$/.test(address))
    return `this request comes from ${address.replace("::ffff:", "")}; --trust-network (option trustNetwork) opens it to a network`;
  return isLoopbackName(hostname(header("host") ?? ""))
    ? undefined
    : "this request has another Host; send it to 127.0.0.1 or localhost";
}

/** Whether a request comes from this machine, and through no proxy. */
export const isLocal = (request: RequestContext): boolean => obstacle(request, noNetworks) === undefined;

/** Throws 404 for a request that comes neither from this machine nor from a trusted network. `what` is the subject. */
export function requireNear(request: RequestContext, trusted: Networks, what: string): void {
  const found = obstacle(request, trusted);
  if (found === undefined) return;
  const open = ["this machine", ...trusted.names].join(", ");
  throw new Problem("not_found", `${what} is open only to ${open}: ${found}`);
}
