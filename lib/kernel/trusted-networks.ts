import { inAnyRange, parseAddress, parseRange } from "./text/ip-address.ts";

/** The networks that an operator trusts. */
export interface Networks {
  /** In the operator's spelling: `172.16.0.0/12`. */
  readonly names: readonly string[];
  /** Whether an address lies in one of them; false for text that is not an address. */
  has(address: string): boolean;
}

export const noNetworks: Networks = { names: [], has: () => false };

/** Networks in CIDR form; `parseRange` must accept each. */
export function networksOf(names: readonly string[]): Networks {
  const ranges = names.flatMap((name) => parseRange(name) ?? []);
  return {
    names,
    has(text) {
      // A dual-stack socket shows an IPv4 address within an IPv6 one.
      const address = parseAddress(text.replace(/^::ffff:(?=\d+\.)/i, ""));
      return address !== undefined && inAnyRange(ranges, address);
    },
  };
}
