import { Problem } from "../kernel/errors.ts";
import { parseUrl } from "../kernel/text/url.ts";
import { type Networks, noNetworks } from "../kernel/trusted-networks.ts";
import type { RequestContext } from "./request-context.ts";

const loopback = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/** The name in a `Host` header or URL: in lower case, without the port. */
const hostname = (host: string): string => host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");

/** A host as `hostname` returns it: without a port, and an IPv6 address in brackets. */
const bracketed = (host: string): string =>
  /^[^[\]]*:[^[\]]*:/.test(host) ? `[${host.toLowerCase()}]` : hostname(host);

/** Whether this is `localhost` or a loopback address, as written in a URL. */
export const isLoopbackName = (name: string): boolean => loopback.test(name);

/** Whether only this machine can reach a server that listens on this host. */
export const isLoopbackHost = (host: string): boolean => isLoopbackName(bracketed(host));

export type Hosts = ReturnType<typeof createHosts>;

/**
 * Accepts loopback names, the host of the public URL, the option `hosts`, and the addresses that the service listens
 * on. Refuses all others: a page must not reach the service by pointing its own name at this machine (DNS rebinding).
 */
export function createHosts(hosts: readonly string[]) {
  const names = new Set(hosts.map(bracketed));
  const knows = (host: string | undefined): boolean => {
    const name = hostname(host ?? "");
    // parseUrl refuses ports beyond 65535, and addresses such as 127.999.0.1.
    return (isLoopbackName(name) || names.has(name)) && parseUrl(`http://${host}`) !== undefined;
  };
  return {
    add: (host: string): void => void names.add(bracketed(host)),
    knows,
    check(host: string | undefined): void {
      if (knows(host)) return;
      throw new Problem(
        "misdirected_request",
        "this service does not accept the Host of the request; use its own address, or add the host to the option hosts",
      );
    },
  };
}

/**
 * Why a request may not use the routes without a key; undefined if it may. Allowed are calls in process, requests from
 * a loopback address with a loopback name as Host (other known hosts do not count), and requests from trusted networks
 * with any known Host.
 */
function obstacle({ incoming, header }: RequestContext, trusted: Networks): string | undefined {
  if (!incoming) return undefined;
  // A proxy forwards requests from anywhere. These headers reveal a proxy even if the options do not mention it.
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

/** Whether a page of another origin than `own` sent it. Some GETs lack `Origin`, but have `Sec-Fetch-Site`. */
export function isForeign({ header }: RequestContext, own: string): boolean {
  const origin = header("origin");
  const site = header("sec-fetch-site") ?? "none";
  return origin === undefined ? site !== "same-origin" && site !== "none" : origin !== own;
}

/**
 * Whether a request comes from this machine, and not through a proxy. In `start`, calls in process do not count: an
 * application passes on requests from anywhere, with any `Host`.
 */
export const isLocal = (request: RequestContext, mode: "dev" | "start"): boolean =>
  (mode === "dev" || request.incoming !== undefined) && obstacle(request, noNetworks) === undefined;

/** Throws 404 unless a request comes from this machine or a trusted network. `what` is the subject of the message. */
export function requireNear(request: RequestContext, trusted: Networks, what: string): void {
  const reason = obstacle(request, trusted);
  if (reason === undefined) return;
  const open = ["this machine", ...trusted.names].join(", ");
  throw new Problem("not_found", `${what} is open only to ${open}: ${reason}`);
}
