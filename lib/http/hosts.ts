import { Problem } from "../kernel/errors.ts";
import type { RequestContext } from "./request-context.ts";

const loopback = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/** The name in a `Host` header or URL, without its port, in lower case. */
const hostname = (host: string): string => host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");

/** An IPv6 address is written in brackets in a `Host`, and without them elsewhere. */
const bracketed = (host: string): string =>
  /^[^[\]]*:[^[\]]*:/.test(host) ? `[${host.toLowerCase()}]` : hostname(host);

/** The hosts that this service answers to. */
export interface Hosts {
  add(host: string): void;
  /** Whether the service answers to this `Host` header. */
  knows(host: string | undefined): boolean;
  /** Throws 421 for any other. */
  check(host: string | undefined): void;
}

/**
 * Loopback names, the public URL's, those of the option `hosts`, and the addresses that the service listens on. A page of
 * another name that was pointed at this machine (DNS rebinding) must not reach it.
 */
export function createHosts(known: readonly string[]): Hosts {
  const names = new Set(known.map(bracketed));
  /** The last known one: GET 0.945 of the processor, with queries made when they are called for (`npm run bench -- http`). */
  let last: string | undefined;
  const knows = (host: string | undefined) => {
    if (host !== undefined && host === last) return true;
    const name = hostname(host ?? "");
    const isKnown = loopback.test(name) || names.has(name);
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
        "this service does not answer to the Host of the request; use its own address, or name the host in the option hosts",
      );
    },
  };
}

/**
 * Whether a request needs no key for routes of this machine alone: it came in process, or over a loopback address under a
 * loopback name, whatever other hosts are known.
 */
export function isLocal({ incoming, header }: RequestContext): boolean {
  if (!incoming) return true;
  // A proxy on this machine forwards requests from anywhere. One that the options do not name shows by its headers.
  if (header("x-forwarded-for") !== undefined || header("forwarded") !== undefined) return false;
  const address = incoming.socket.remoteAddress ?? "";
  return loopback.test(hostname(header("host") ?? "")) && /^(::ffff:)?127\.|^::1$/.test(address);
}
