import type { IncomingMessage } from "node:http";

/**
 * The address that a request without a valid key is counted for. Behind a proxy that the options name, it is the last
 * address of `X-Forwarded-For`, which that proxy saw itself.
 */
export function clientAddress(incoming: IncomingMessage, behindProxy: boolean): string {
  const address = wholeAddress(incoming, behindProxy);
  // One host can choose from a whole /64 of IPv6 addresses, so they share one count.
  return address.includes(":") ? network(address) : address;
}

/** The address of the client itself, an IPv6 address too. */
export function wholeAddress(incoming: IncomingMessage, behindProxy: boolean): string {
  const forwarded = behindProxy
    ? String(incoming.headers["x-forwarded-for"] ?? "")
        .split(",")
        .at(-1)
        ?.trim()
    : undefined;
  return bare(forwarded || incoming.socket.remoteAddress || "unknown");
}

/** Without port, brackets, zone, or the prefix of an IPv4 address in IPv6. */
function bare(address: string): string {
  const [, inBrackets] = /^\[([^\]]+)\](?::\d+)?$/.exec(address) ?? [];
  const text = (inBrackets ?? address).replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
  return text.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
}

/** The first four groups, written out. */
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
