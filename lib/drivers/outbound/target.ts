import { parseUrl } from "../../kernel/url.ts";
import { addressOfHost } from "./ip-address.ts";
import { memoize } from "./memoize.ts";

/** `host` is as a URL writes it, without a trailing dot. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** The target of a URL, with the parts that its requests need. */
export interface Target extends HostPort {
  readonly secure: boolean;
  /** The address, where the host is one; undefined for a name, which needs a lookup. */
  readonly address: string | undefined;
  /** With the query. */
  readonly path: string;
  /** The value of the Host header. */
  readonly authority: string;
}

/** The dot at the end of a full name is not part of names in certificates or in `outbound.allow`. */
export const hostPortOf = ({ protocol, hostname, port }: URL): HostPort => ({
  host: hostname.replace(/\.$/, ""),
  port: port === "" ? (protocol === "http:" ? 80 : 443) : Number(port),
});

export function targetOf(url: URL): Target {
  const { host, port } = hostPortOf(url);
  return {
    host,
    port,
    secure: url.protocol === "https:",
    address: addressOfHost(host),
    path: `${url.pathname}${url.search}`,
    authority: url.host,
  };
}

const longestUrl = 2048;

/** The rule that a URL of plain http breaks. */
export const mustBeHttps = "must begin with https://";

/** CONTRACT section 6: "`https://`, at most 2,048 characters, no credentials in them". */
export function parseHttpsUrl(text: string): { href: string } | { problem: string } {
  // SPEC: "Webhook url not starting with `https://`"; the URL parser would accept `https:\\host` and a tab inside as well.
  if (!/^https:\/\//i.test(text)) return { problem: mustBeHttps };
  const tooLong = { problem: `must have at most ${longestUrl.toLocaleString("en")} characters` };
  if (text.length > longestUrl) return tooLong;
  const url = parseUrl(text);
  if (!url) return { problem: "must be a URL such as https://example.com/hook" };
  if (url.username !== "" || url.password !== "") return { problem: "must not contain credentials" };
  if (url.port === "0") return { problem: "must not have the port 0" };
  return url.href.length > longestUrl ? tooLong : { href: url.href };
}

/** The target of such a URL, or the rule that it breaks. */
export const httpsTarget = memoize((text): Target | { readonly problem: string } => {
  const parsed = parseHttpsUrl(text);
  return "problem" in parsed ? parsed : targetOf(new URL(parsed.href));
});

/** An http or https URL without credentials and with a port that exists; undefined for anything else. */
export function parseHttpUrl(text: string): URL | undefined {
  const url = parseUrl(text);
  const isUsable = url && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  return isUsable && url.port !== "0" ? url : undefined;
}

/** The URL of a receiver on this machine, plain http or https; undefined for any other. Names below `localhost` are loopback. */
export function parseLoopbackUrl(text: string): URL | undefined {
  const url = /^https?:\/\//i.test(text) ? parseHttpUrl(text) : undefined;
  return url && /^((.+\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(hostPortOf(url).host) ? url : undefined;
}
