import { parseUrl } from "./url.ts";

/** IP addresses and CIDR ranges as numbers, parsed strictly: ambiguous text is not an address. */
export interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

export interface IpRange extends IpAddress {
  readonly prefix: number;
}

const joined = (parts: readonly number[], size: bigint): bigint =>
  parts.reduce((sum, part) => (sum << size) | BigInt(part), 0n);

function parseIpv4(text: string): IpAddress | undefined {
  const parts = text.split(".");
  // Some parsers read a leading zero as octal, others as decimal.
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) return;
  return { bits: 32, value: joined(parts.map(Number), 8n) };
}

function parseIpv6(text: string): IpAddress | undefined {
  const url = /^[0-9a-f:.]{2,45}$/i.test(text) ? parseUrl(`http://[${text}]`) : undefined;
  if (!url) return;
  // The URL parser checks the form and converts an IPv4 tail to hexadecimal, so only the groups remain to be parsed.
  const [head = "", tail] = url.hostname.slice(1, -1).split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  const [first, last] = [groups(head), groups(tail ?? "")];
  return { bits: 128, value: joined([...first, ...Array(8 - first.length - last.length).fill(0), ...last], 16n) };
}

/** An address as a resolver or a URL writes it; undefined for anything else, also with a zone (`fe80::1%eth0`). */
export const parseAddress = (text: string): IpAddress | undefined =>
  text.includes(":") ? parseIpv6(text) : parseIpv4(text);

/** Whether two spellings name the same address. */
export const sameAddress = (one: string, other: string): boolean => {
  if (one === other) return true;
  const [a, b] = [parseAddress(one), parseAddress(other)];
  return a !== undefined && a.bits === b?.bits && a.value === b.value;
};

/** The address in a URL's host (`127.0.0.1`, `[::1]`); undefined for a name, which needs a lookup. */
export function addressOfHost(host: string): string | undefined {
  const bare = host.replace(/^\[|\]$/g, "");
  return parseAddress(bare) ? bare : undefined;
}

/** `10.0.0.0/8`, `fd00::/8` or `[fd00::]/8`; undefined for anything else. */
export function parseRange(text: string): IpRange | undefined {
  const found = /^(?:\[([^\]]+)\]|([^[\]/]+))\/(\d{1,3})$/.exec(text);
  const address = parseAddress(found?.[1] ?? found?.[2] ?? "");
  const prefix = Number(found?.[3]);
  return address && prefix <= address.bits ? { ...address, prefix } : undefined;
}

export const inAnyRange = (ranges: readonly IpRange[], { bits, value }: IpAddress): boolean =>
  ranges.some((range) => bits === range.bits && (value ^ range.value) >> BigInt(bits - range.prefix) === 0n);
