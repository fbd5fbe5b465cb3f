import { memoize } from "./memoize.ts";

/**
 * Which addresses requests may go to. CONTRACT section 6: "in `start` mode every resolved address must be public",
 * "link-local and metadata addresses stay closed in every mode". Pure, so that a property test can walk all of it.
 */
export interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

export interface Range extends Address {
  readonly prefix: number;
}

/** What a host and port lead to. `host` is as a URL writes it, without a dot at its end. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

const joined = (parts: readonly number[], size: bigint): bigint =>
  parts.reduce((sum, part) => (sum << size) | BigInt(part), 0n);

function parseFour(text: string): Address | undefined {
  const parts = text.split(".");
  // A leading zero is octal to some and decimal to others; what has two readings is no address.
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return;
  return { bits: 32, value: joined(parts.map(Number), 8n) };
}

function parseSix(text: string): Address | undefined {
  if (!/^[0-9a-f:.]{2,45}$/i.test(text) || !URL.canParse(`http://[${text}]`)) return;
  // The URL parser judges the form and writes an IPv4 tail as hexadecimal, so that only groups are left to read.
  const [head = "", tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  const [first, last] = [groups(head), groups(tail ?? "")];
  return { bits: 128, value: joined([...first, ...Array(8 - first.length - last.length).fill(0), ...last], 16n) };
}

/** An address as a resolver or a URL writes it; undefined for anything else, and for one with a zone (`fe80::1%eth0`). */
export const parseAddress = (text: string): Address | undefined =>
  text.includes(":") ? parseSix(text) : parseFour(text);

export const sameAddress = (one: string, other: string): boolean => {
  if (one === other) return true;
  const [a, b] = [parseAddress(one), parseAddress(other)];
  return a !== undefined && a.bits === b?.bits && a.value === b.value;
};

const bare = (host: string) => host.replace(/^\[|\]$/g, "");
/** The address that a URL's host is already, so that there is nothing to look up. */
export const literal = (host: string) => (parseAddress(bare(host)) ? bare(host) : undefined);

/** `10.0.0.0/8`, `fd00::/8` or `[fd00::]/8`; undefined where it is none. */
export function parseRange(text: string): Range | undefined {
  const found = /^(?:\[([^\]]+)\]|([^[\]/]+))\/(\d{1,3})$/.exec(text);
  const address = parseAddress(found?.[1] ?? found?.[2] ?? "");
  const prefix = Number(found?.[3]);
  return address && prefix <= address.bits ? { ...address, prefix } : undefined;
}

const within = ({ bits, value }: Address, range: Range): boolean =>
  bits === range.bits && (value ^ range.value) >> BigInt(bits - range.prefix) === 0n;

/** Read when they are first asked for: a start does without them, and they take a fiftieth of it. */
function ranges(text: string): () => readonly Range[] {
  let read: readonly Range[] | undefined;
  return () => {
    read ??= text.split(" ").flatMap((one) => parseRange(one) ?? []);
    return read;
  };
}

/**
 * Closed in every mode: link-local addresses and those where clouds keep credentials (Amazon's, Azure's, Alibaba's,
 * Oracle's, Google's), some of which lie in ranges that an operator may well want to open.
 */
const closed = ranges(
  "169.254.0.0/16 168.63.129.16/32 100.100.100.200/32 192.0.0.192/32 fe80::/10 fd00:ec2::/32 fd20:ce::254/128",
);
/** Loopback and private networks, which the mode dev opens. */
const near = ranges("127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 ::1/128 fc00::/7");
/** IPv4 that is neither near nor public: this network, protocols, documentation, 6to4 relays, benchmarks, multicast, class E. */
const reserved = ranges(
  "0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
);
/** IPv6 is a list of what is open instead: of 2000::/3 all but Teredo and its kin, documentation, 6to4 and AS112. */
const global = ranges("2000::/3");
const notGlobal = ranges("2001::/23 2001:db8::/32 2002::/16 3fff::/20 2620:4f:8000::/48");

const some = (list: readonly Range[], address: Address) => list.some((range) => within(address, range));
const low = (value: bigint) => value & 0xffff_ffffn;

/** IPv6 ranges that a host or a router turns into IPv4, and where each holds it: an opened one must not lead to a closed address. */
const carriers: readonly (readonly [() => readonly Range[], (value: bigint) => bigint])[] = [
  // Compatible, mapped, translated, and NAT64.
  [ranges("::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48"), low],
  // RFC 6052: behind a prefix of 48 bits the address is parted by an octet of zeros.
  [ranges("64:ff9b:1::/48"), (value) => low(((value >> 64n) << 16n) | ((value >> 40n) & 0xffffn))],
  [ranges("2002::/16"), (value) => low(value >> 80n)],
  // Teredo holds its client's address with every bit turned over.
  [ranges("2001::/32"), (value) => low(~value)],
];

const carried = (address: Address): Address[] =>
  carriers.flatMap(([list, read]) => (some(list(), address) ? [{ bits: 32, value: read(address.value) }] : []));

const isClosed = (address: Address) => [address, ...carried(address)].some((one) => some(closed(), one));
const isPublic = (address: Address) =>
  address.bits === 32
    ? !some(near(), address) && !some(reserved(), address)
    : some(global(), address) && !some(notGlobal(), address);

/** What the option `outbound.allow` opens beside public addresses. */
export interface Allowed {
  readonly ranges: readonly Range[];
  readonly targets: readonly Target[];
}

/** What a URL leads to. The dot that ends a full name is no part of a certificate's names, and none of `allow`'s. */
export const targetOf = ({ protocol, hostname, port }: URL): Target => ({
  host: hostname.replace(/\.$/, ""),
  port: port === "" ? (protocol === "http:" ? 80 : 443) : Number(port),
});

/** `localhost:8443`, `[::1]:8443`; undefined where it is none. Goes through URL, so every spelling of a host is the same. */
function parseTarget(text: string): Target | undefined {
  if (!/^(\[[0-9a-f:.]+\]|[^\s/\\?#@:[\]*%]+):[0-9]{1,5}$/i.test(text) || !URL.canParse(`https://${text}`)) return;
  const target = targetOf(new URL(`https://${text}`));
  return target.port > 0 ? target : undefined;
}

/**
 * Reads `outbound.allow`: CIDRs (`10.0.0.0/8`, `[fd00::]/8`) and host:port (`localhost:8443`). Throws for anything else,
 * and for what it would not open.
 */
export function parseAllow(entries: readonly string[]): Allowed {
  const found: { ranges: Range[]; targets: Target[] } = { ranges: [], targets: [] };
  for (const entry of entries) {
    const range = parseRange(entry);
    const target = parseTarget(entry);
    const address = range ?? parseAddress(bare(target?.host ?? ""));
    const covering = closed().filter(({ prefix }) => prefix <= (range?.prefix ?? 128));
    if (address && some(covering, address))
      throw new Error(
        `must not be "${entry}": link-local addresses, and those of clouds' credentials, are never opened`,
      );
    if (range) found.ranges.push(range);
    else if (target) found.targets.push(target);
    else {
      const right = "must be a CIDR such as 10.0.0.0/8 or [fd00::]/8, or host:port such as localhost:8443";
      throw new Error(`${right}, not "${entry}"`);
    }
  }
  return found;
}

/** What an address is, whoever asks; undefined for what is closed to all. */
const judged = memoize((text) => {
  const address = parseAddress(text);
  return address && !isClosed(address)
    ? { address, isPublic: isPublic(address), isNear: some(near(), address) }
    : undefined;
});

/** Whether a request may go to this address, which is what `target` resolved to. What cannot be read is refused. */
export function isAllowed(mode: "dev" | "start", allowed: Allowed, text: string, { host, port }: Target): boolean {
  const known = judged(text);
  if (!known) return false;
  if (known.isPublic || (mode === "dev" && known.isNear)) return true;
  return some(allowed.ranges, known.address) || allowed.targets.some((one) => one.host === host && one.port === port);
}
