import { names } from "./hostile-urls.ts";
import type { Records } from "./name-server.ts";

/** The DNS records in the network of `closed-network.ts`. */

export const public4 = "93.184.215.14";
export const public6 = "2606:4700::1111";
export const opened = "10.77.1.1";
const forbidden = [
  ...["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "168.63.129.16"],
  ...["0.0.0.0", "198.18.0.1", "240.0.0.1", "::1", "fd00:ec2::254", "fd12::1", "fe80::1", "::ffff:10.0.0.1"],
  ...["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1"],
];

/**
 * Ways in which a name changes from a public to a forbidden address: `<kind>-<index of the forbidden address>.test`.
 */
const kinds: Readonly<Record<string, (address: string, lookups: number) => Records>> = {
  flip: (address, lookups) => ({ addresses: [lookups % 2 === 0 ? address : public4] }),
  later: (address, lookups) => ({ addresses: [lookups > 2 ? address : public4] }),
  both: (address) => ({ addresses: [public4, address] }),
  first: (address) => ({ addresses: [address, public4, public6] }),
  many: (address) => ({ addresses: [...Array.from({ length: 20 }, (_, i) => `93.184.215.${i}`), address] }),
  chain: (address) => ({ addresses: [address], chain: ["a.chain.test", "b.chain.test"] }),
  six: (address, lookups) => ({ addresses: lookups % 2 === 0 ? [public6, address] : [public6] }),
};
export const moving = Object.keys(kinds).flatMap((kind) => forbidden.map((_, i) => `${kind}-${i}.test`));
export const steady = ["good.test", "redirect.test", "backend.test"];

export function recordsOf(name: string, lookups: number): Records | undefined {
  if (steady.includes(name)) return { addresses: [public4, public6] };
  if (name === "opened.test") return { addresses: [opened] };
  const [, kind = "", index] = /^(?:api\.)?(\w+)-(\d+)\.test$/.exec(name) ?? [];
  const address = forbidden[Number(index)];
  if (address !== undefined) return kinds[kind]?.(address, lookups);
  const addresses = names[name];
  return addresses && { addresses };
}
