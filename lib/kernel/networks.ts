import { inAnyRange, parseAddress, parseRange } from "./ip-address.ts";

/** The networks that an operator trusts. */
export interface Networks {
  /** As the operator wrote them: `172.16.0.0/12`. */
  readonly names: readonly string[];
  /** Whether an address lies in one of them. Text that is no address lies in none. */
  has(address: string): boolean;
}

export const noNetworks: Networks = { names: [], has: () => false };

/** Networks in CIDR form, each of which `parseRange` understands. */
export function networksOf(names: readonly string[]): Networks {
  const ranges = names.flatMap((name) => parseRange(name) ?? []);
  return {
    names,
    has(text) {
      // A socket that takes both families shows an IPv4 address within an IPv6 one.
      const address = parseAddress(text.replace(/^::ffff:(?=\d+\.)/i, ""));
      return address !== undefined && inAnyRange(ranges, address);
    },
  };
}
