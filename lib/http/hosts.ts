import { Problem } from "../kernel/errors.ts";
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
    // A port beyond 65535 and an address such as 127.999.0.1 are nobody's.
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
 * Whether a request needs no key for routes that are open to this machine: it came in process, or over a loopback address
 * with a loopback name, whatever other hosts are known.
 */
export function isLocal({ incoming, header }: RequestContext): boolean {
  if (!incoming) return true;
  // A proxy on this machine forwards requests from anywhere. Its headers show a proxy that the options do not name.
  if (header("x-forwarded-for") !== undefined || header("forwarded") !== undefined) return false;
  const address = incoming.socket.remoteAddress ?? "";
  return isLoopbackName(hostname(header("host") ?? "")) && /^(::ffff:)?127\.|^::1$/.test(address);
}
