import type { IncomingMessage } from "node:http";

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

/** The /64 network of an IPv6 address: its first four groups, without `::`. */
function network(address: string): string {
  const [head = "", tail] = address.toLowerCase().split("::");
  const groups = head.split(":").filter(Boolean);
  const after = (tail ?? "").split(":").filter(Boolean);
  const missing = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - groups.length - after.length)).fill("0");
  return [...groups, ...missing, ...after]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
