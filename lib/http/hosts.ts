import { Problem } from "../kernel/errors.ts";
import type { RequestContext } from "./request-context.ts";

const loopback = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/** The name in a `Host` header or URL, without its port, in lower case. */
export const hostname = (host: string): string => host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");

/** An IPv6 address is written in brackets in a `Host`, and without them elsewhere. */
const bracketed = (host: string): string =>
  /^[^[\]]*:[^[\]]*:/.test(host) ? `[${host.toLowerCase()}]` : hostname(host);

/** Which `Host` this service answers to. */
export interface Hosts {
  add(host: string): void;
  /** Throws 421 for any other. */
  check(host: string | undefined): void;
}

/**
 * Loopback names, the public URL's, those of option `hosts`, and the address that is listened on. A page of another name
 * that was pointed at this machine (DNS rebinding) must not reach it.
 */
export function createHosts(known: readonly string[]): Hosts {
  const names = new Set(known.map(bracketed));
  /** The last one that was let in: nearly all requests have the same. */
  let last: string | undefined;
  return {
    add: (host) => void names.add(bracketed(host)),
    check(host) {
      if (host !== undefined && host === last) return;
      const name = hostname(host ?? "");
      if (loopback.test(name) || names.has(name)) {
        last = host;
        return;
      }
      throw new Problem(
        "misdirected_request",
        "this service does not answer to the Host of the request; use its own address, or name the host in the option hosts",
      );
    },
  };
}

/** For what has no key: in process, or over a loopback address under a loopback name, whatever other hosts are known. */
export function isLocal({ socket, header }: RequestContext): boolean {
  if (!socket) return true;
  // A proxy on this machine speaks for somebody who may be anywhere; one that nobody named tells itself by what it adds.
  if (header("x-forwarded-for") !== undefined || header("forwarded") !== undefined) return false;
  const address = socket.socket.remoteAddress ?? "";
  return loopback.test(hostname(header("host") ?? "")) && /^(::ffff:)?127\.|^::1$/.test(address);
}
