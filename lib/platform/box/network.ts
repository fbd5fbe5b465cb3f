import { existsSync, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { isLoopback, parseAllow } from "../../drivers/outbound/address-policy.ts";
import { type IpAddress, parseAddress } from "../../kernel/text/ip-address.ts";

/** The destinations that a box may reach besides public addresses. */
export interface Reach {
  /** Ports of 127.0.0.1 on the machine. The box finds them at the same address. */
  readonly ports: readonly number[];
  readonly networks: readonly string[];
}

/** The addresses of the box, of its gateway and of its name server. No network routes this range. */
const address = "198.18.0.2";
const gateway = "198.18.0.1";
const forwarder = "198.18.0.3";

/** Private networks, link-local addresses, the metadata addresses of clouds, and all reserved ranges. */
const closed = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15"],
  ...["168.63.129.16/32", "192.0.0.192/32", "224.0.0.0/4", "240.0.0.0/4"],
];

/** The addresses of this machine, including those of `lo`: servers may listen there as they do on 127.0.0.1. */
const ofMachine = () =>
  Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .flatMap(({ family, address: own }) => (family === "IPv4" && !isLoopback(own) ? [`${own}/32`] : []));

const lines = (commands: readonly string[]) => commands.map((one) => `${one}\n`).join("");

/** The blocked routes of a box, as input for `ip -batch`. They exist before the network does. */
export const closedRoutes = ({ networks }: Reach): string =>
  lines(
    [...new Set([...closed, ...ofMachine()])]
      .filter((one) => !networks.includes(one))
      .map((one) => `route add blackhole ${one}`),
  );

/** The port of DNS, and the number of the routing table for it. */
const names = 53;

/**
 * The routes that are added once the network exists. Longer prefixes block the link's network, because pasta would
 * forward its other addresses to machines outside. Of the name server, only the port of DNS is open.
 */
export const openedRoutes = ({ networks }: Reach): string =>
  lines([
    ...networks.map((one) => `route replace ${one} via ${gateway}`),
    `route add ${forwarder} via ${gateway} table ${names}`,
    ...["udp", "tcp"].map((one) => `rule add to ${forwarder} ipproto ${one} dport ${names} table ${names}`),
    ...["198.18.0.0/30", "198.18.0.4/30"].map((one) => `route replace blackhole ${one}`),
  ]);

const nameServersIn = (file: string) =>
  existsSync(file)
    ? [...readFileSync(file, "utf8").matchAll(/^nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/gm)].map(([, one = ""]) => one)
    : [];

function resolver(): { readonly settings: string; readonly options: readonly string[] } {
  const [nameServer] = nameServersIn("/etc/resolv.conf");
  const [upstream] = nameServersIn("/run/systemd/resolve/resolv.conf");
  const forwarded = { settings: `nameserver ${forwarder}\n`, options: ["--dns-forward", forwarder, "-U", "none"] };
  if (nameServer === undefined || !isLoopback(nameServer)) return forwarded;
  // A box cannot use a name server on the machine's loopback. systemd lists the servers behind its local one.
  if (upstream !== undefined) return { ...forwarded, options: ["-D", upstream, ...forwarded.options] };
  return { settings: "nameserver 127.0.0.1\n", options: ["-U", "53"] };
}

export const resolverSettings = (): string => resolver().settings;

/** How pasta connects a box: in through one port of 127.0.0.1, out through sockets of the machine. */
export const pastaOptions = (port: number | undefined, inside = port, { ports }: Reach): string[] => [
  ...["-f", "-q", "-4", "--config-net", "--no-map-gw", "--no-dhcp"],
  ...["-a", address, "-n", "29", "-g", gateway, ...resolver().options],
  ...["-t", port === undefined ? "none" : `127.0.0.1/${port}:${inside}`],
  ...["-T", ports.length === 0 ? "none" : ports.join(",")],
  ...["-u", "none"],
];

const textOf = ({ value }: IpAddress) => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");

/**
 * The destinations that the options `deployments.reach` and `outbound.allow` open. A box routes by address, so host
 * names are ignored.
 */
export function reachOf(reach: readonly string[], allow: readonly string[]): Reach {
  const opened = parseAllow(allow);
  const addresses = opened.targets.flatMap(({ host }) => parseAddress(host) ?? []).filter(({ bits }) => bits === 32);
  const hosts = addresses.map(textOf).filter((one) => !isLoopback(one));
  return {
    ports: parseAllow(reach).targets.map(({ port }) => port),
    networks: [
      ...opened.ranges.flatMap((range) => (range.bits === 32 ? [`${textOf(range)}/${range.prefix}`] : [])),
      ...hosts.map((one) => `${one}/32`),
    ],
  };
}
