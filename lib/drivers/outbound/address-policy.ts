import {
  addressOfHost,
  type IpAddress,
  type IpRange,
  inAnyRange,
  parseAddress,
  parseRange,
} from "../../kernel/text/ip-address.ts";
import { parseUrl } from "../../kernel/text/url.ts";
import { memoize } from "./memoize.ts";
import { type HostPort, hostPortOf } from "./target.ts";

/*
 * The addresses that requests may go to (schema/webhooks.md#addresses). The functions are pure, so a property test can
 * cover them.
 */

/** Ranges parsed at their first use: parsing them all would add 1.5 ms to every start (bench `starts`). */
function ranges(text: string): () => readonly IpRange[] {
  let parsed: readonly IpRange[] | undefined;
  return () => {
    parsed ??= text.split(" ").flatMap((range) => parseRange(range) ?? []);
    return parsed;
  };
}

/**
 * Closed in every mode: link-local addresses and cloud metadata addresses, which return credentials (Amazon, Azure,
 * Alibaba, Oracle, Google). Some lie in ranges that operators often open.
 */
const neverAllowed = ranges(
  "169.254.0.0/16 168.63.129.16/32 100.100.100.200/32 192.0.0.192/32 fe80::/10 fd00:ec2::/32 fd20:ce::254/128",
);
const loopbackRanges = ranges("127.0.0.0/8 ::1/128");
/** Loopback and private networks. The mode dev opens them. */
const privateRanges = ranges("127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 ::1/128 fc00::/7");
/** Reserved IPv4: this network, protocols, documentation, 6to4 relays, benchmarks, multicast, class E. */
const reservedIpv4 = ranges(
  "0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
);
/** For IPv6 the public ranges are listed: 2000::/3 minus Teredo and its neighbours, documentation, 6to4 and AS112. */
const globalIpv6 = ranges("2000::/3");
const reservedIpv6 = ranges("2001::/23 2001:db8::/32 2002::/16 3fff::/20 2620:4f:8000::/48");

const low32 = (value: bigint) => value & 0xffff_ffffn;

/**
 * IPv6 ranges that a host or a router translates to IPv4, each with the position of the IPv4 address. An open IPv6
 * address must not lead to a closed IPv4 address.
 */
const translations: readonly (readonly [() => readonly IpRange[], (value: bigint) => bigint])[] = [
  // IPv4-compatible, mapped and translated addresses, and NAT64.
  [ranges("::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48"), low32],
  // RFC 6052: after a 48-bit prefix, a zero octet splits the address.
  [ranges("64:ff9b:1::/48"), (value) => low32(((value >> 64n) << 16n) | ((value >> 40n) & 0xffffn))],
  [ranges("2002::/16"), (value) => low32(value >> 80n)],
  // Teredo stores the client's address with all bits inverted.
  [ranges("2001::/32"), (value) => low32(~value)],
];

const embeddedIpv4 = (address: IpAddress): IpAddress[] =>
  translations.flatMap(([list, extract]) =>
    inAnyRange(list(), address) ? [{ bits: 32, value: extract(address.value) }] : [],
  );

const isNeverAllowed = (address: IpAddress) =>
  [address, ...embeddedIpv4(address)].some((one) => inAnyRange(neverAllowed(), one));
const isPrivate = (address: IpAddress) => inAnyRange(privateRanges(), address);
const isPublic = (address: IpAddress) =>
  address.bits === 32
    ? !isPrivate(address) && !inAnyRange(reservedIpv4(), address)
    : inAnyRange(globalIpv6(), address) && !inAnyRange(reservedIpv6(), address);

/** The addresses that the option `outbound.allow` opens in addition to public ones. */
export interface AllowList {
  readonly ranges: readonly IpRange[];
  readonly targets: readonly HostPort[];
}

/**
 * Parses `localhost:8443` or `[::1]:8443`; undefined for anything else. Parsed as a URL, so all spellings of a host are
 * equal.
 */
function parseHostPort(text: string): HostPort | undefined {
  if (!/^(\[[0-9a-f:.]+\]|[^\s/\\?#@:[\]*%]+):[0-9]{1,5}$/i.test(text)) return;
  const url = parseUrl(`https://${text}`);
  const target = url && hostPortOf(url);
  return target && target.port > 0 ? target : undefined;
}

/**
 * Parses `outbound.allow`: CIDRs (`10.0.0.0/8`, `[fd00::]/8`) and host:port (`localhost:8443`). Throws for anything
 * else, and for entries within addresses that are never opened.
 */
export function parseAllow(entries: readonly string[]): AllowList {
  const allowed: { ranges: IpRange[]; targets: HostPort[] } = { ranges: [], targets: [] };
  for (const entry of entries) {
    const range = parseRange(entry);
    const target = parseHostPort(entry);
    const address = range ?? parseAddress(addressOfHost(target?.host ?? "") ?? "");
    const covering = neverAllowed().filter(({ prefix }) => prefix <= (range?.prefix ?? 128));
    if (address && inAnyRange(covering, address))
      throw new Error(
        `must not be "${entry}": link-local addresses, and those of clouds' credentials, are never opened`,
      );
    if (range) allowed.ranges.push(range);
    else if (target) allowed.targets.push(target);
    else {
      const right = "must be a CIDR such as 10.0.0.0/8 or [fd00::]/8, or host:port such as localhost:8443";
      throw new Error(`${right}, not "${entry}"`);
    }
  }
  return allowed;
}

/**
 * The class of an address, independent of the target. Undefined for invalid addresses and for those that are never
 * allowed.
 */
const classOf = memoize((text): { address: IpAddress; isPublic: boolean; isPrivate: boolean } | undefined => {
  const address = parseAddress(text);
  return address && !isNeverAllowed(address)
    ? { address, isPublic: isPublic(address), isPrivate: isPrivate(address) }
    : undefined;
});

const isOpened = ({ ranges, targets }: AllowList, address: IpAddress, { host, port }: HostPort) =>
  inAnyRange(ranges, address) || targets.some((one) => one.host === host && one.port === port);

/** Whether an address is on this machine or in a private network. */
export const isPrivateAddress = (text: string): boolean => classOf(text)?.isPrivate ?? false;

/** Whether a request may go to this address, to which `target` resolved. Invalid addresses are refused. */
export function isAllowed(mode: "dev" | "start", allowed: AllowList, text: string, target: HostPort): boolean {
  const known = classOf(text);
  if (!known) return false;
  return known.isPublic || (mode === "dev" && known.isPrivate) || isOpened(allowed, known.address, target);
}

/** Whether this address is on this machine, in a private network, or in `allowed`. */
export function isNear(allowed: AllowList, text: string, target: HostPort): boolean {
  const known = classOf(text);
  return known !== undefined && (known.isPrivate || isOpened(allowed, known.address, target));
}

/** Whether this address is closed in every mode. Invalid addresses count as closed. */
export const isClosed = (text: string): boolean => classOf(text) === undefined;

export function isLoopback(text: string): boolean {
  const known = classOf(text);
  return known !== undefined && inAnyRange(loopbackRanges(), known.address);
}
