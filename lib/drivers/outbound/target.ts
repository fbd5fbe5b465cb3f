import { addressOfHost } from "../../kernel/text/ip-address.ts";
import { parseUrl } from "../../kernel/text/url.ts";
import type { Networks } from "../../kernel/trusted-networks.ts";
import { memoize } from "./memoize.ts";

/** `host` has the form of a URL's host, without a trailing dot. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** The target of a URL, with the parts that requests need. */
export interface Target extends HostPort {
  readonly secure: boolean;
  /** The address if the host is one; undefined for a name, which needs a lookup. */
  readonly address: string | undefined;
  /** With the query. */
  readonly path: string;
  /** The value of the Host header. */
  readonly authority: string;
}

/** The trailing dot of a full name does not appear in certificates or in `outbound.allow`. */
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

const maxUrl = 2048;

/** The rule that a plain http URL breaks. */
export const mustBeHttps = "must begin with https://";
/** The rule that a plain http URL breaks if the operator trusts networks. */
export const mustBeTrusted = ({ names }: Networks) =>
  `must lead to a network of the option trustNetwork (${names.join(", ")}), or be an https:// URL`;

/** Accepts `https://` URLs of at most 2,048 characters, without credentials. */
export function parseHttpsUrl(text: string): { href: string } | { problem: string } {
  // The URL parser would also accept `https:\\host` and a tab inside.
  return /^https:\/\//i.test(text) ? parseDeliveryUrl(text) : { problem: mustBeHttps };
}

/** Also accepts plain http to an address of a trusted network, or to a name, whose addresses are checked later. */
export function parseEndpointUrl(text: string, trusted: Networks): { href: string } | { problem: string } {
  if (trusted.names.length === 0 || !/^http:\/\//i.test(text)) return parseHttpsUrl(text);
  const parsed = parseDeliveryUrl(text);
  if ("problem" in parsed) return parsed;
  const { address } = targetOf(new URL(parsed.href));
  return address === undefined || trusted.has(address) ? parsed : { problem: mustBeTrusted(trusted) };
}

function parseDeliveryUrl(text: string): { href: string } | { problem: string } {
  const tooLong = { problem: `must have at most ${maxUrl.toLocaleString("en")} characters` };
  if (text.length > maxUrl) return tooLong;
  const url = parseUrl(text);
  if (!url) return { problem: "must be a URL such as https://example.com/hook" };
  if (url.username !== "" || url.password !== "") return { problem: "must not contain credentials" };
  if (url.port === "0") return { problem: "must not have the port 0" };
  return url.href.length > maxUrl ? tooLong : { href: url.href };
}

/** The target of an https URL, or the rule that it breaks. */
export const httpsTarget = memoize((text): Target | { readonly problem: string } => {
  const parsed = parseHttpsUrl(text);
  return "problem" in parsed ? parsed : targetOf(new URL(parsed.href));
});

/**
 * The target of a delivery: https, or plain http if the operator trusts networks. Otherwise the rule that its URL
 * breaks.
 */
export function deliveryTarget(text: string, trusted: Networks): Target | { readonly problem: string } {
  if (trusted.names.length === 0 || !/^http:/i.test(text)) return httpsTarget(text);
  const parsed = parseEndpointUrl(text, trusted);
  return "problem" in parsed ? parsed : targetOf(new URL(parsed.href));
}

/** An http or https URL without credentials and with a valid port; undefined for anything else. */
export function parseHttpUrl(text: string): URL | undefined {
  const url = parseUrl(text);
  const isUsable = url && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  return isUsable && url.port !== "0" ? url : undefined;
}

/**
 * A plain http or https URL of a receiver on this machine or in a trusted network; undefined for others. Names below
 * `localhost` are loopback. Other names are accepted if the operator trusts networks: each delivery looks them up.
 */
export function parseNearUrl(text: string, trusted: Networks): URL | undefined {
  const url = /^https?:\/\//i.test(text) ? parseHttpUrl(text) : undefined;
  if (!url) return undefined;
  const { host } = hostPortOf(url);
  if (/^((.+\.)?localhost|127(\.\d+){3}|\[::1\])$/.test(host)) return url;
  const address = addressOfHost(host);
  const isTrusted = address === undefined ? trusted.names.length > 0 : trusted.has(address);
  return isTrusted ? url : undefined;
}

/** The target of a near URL, or the rule that it breaks. */
export const nearTarget = (text: string, trusted: Networks): Target | { readonly problem: string } => {
  const url = parseNearUrl(text, trusted);
  return url ? targetOf(url) : { problem: "must lead to this machine, or to a network of the option trustNetwork" };
};
