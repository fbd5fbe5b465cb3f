import type { IncomingMessage } from "node:http";
import { parseAddress } from "../kernel/text/ip-address.ts";

/**
 * The address for counting requests without a valid key. Behind a trusted proxy, it is the last address of
 * `X-Forwarded-For`, which that proxy added.
 */
export function clientAddress(incoming: IncomingMessage, behindProxy: boolean): string {
  const address = wholeAddress(incoming, behindProxy);
  // A host can use any address of its IPv6 /64 network, so the whole network shares one count.
  return address.includes(":") ? network(address) : address;
}

/** The client's address, not shortened to a network. */
export function wholeAddress(incoming: IncomingMessage, behindProxy: boolean): string {
  const forwarded = behindProxy
    ? String(incoming.headers["x-forwarded-for"] ?? "")
        .split(",")
        .at(-1)
        ?.trim()
    : undefined;
  return bare(forwarded || incoming.socket.remoteAddress || "unknown");
}

/** Removes port, brackets, zone, and the prefix of an IPv4-mapped IPv6 address. */
function bare(address: string): string {
  const [, inBrackets] = /^\[([^\]]+)\](?::\d+)?$/.exec(address) ?? [];
  const text = (inBrackets ?? address).replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
  return text.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
}

/** The /64 network of an IPv6 address: its first four groups. */
function network(address: string): string {
  const parsed = parseAddress(address);
  if (!parsed) return address;
  return [112n, 96n, 80n, 64n].map((bits) => ((parsed.value >> bits) & 0xffffn).toString(16)).join(":");
}
