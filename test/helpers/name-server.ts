import { createSocket } from "node:dgram";
import { once } from "node:events";
import { parseAddress } from "../../lib/kernel/text/ip-address.ts";

/** A name's records: its addresses, and the CNAME chain that leads to them. */
export interface Records {
  readonly addresses: readonly string[];
  readonly chain?: readonly string[];
}

const types = { A: 1, CNAME: 5, AAAA: 28 } as const;

const encodeName = (name: string) =>
  Buffer.concat([...name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.of(0)]);

function decodeName(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}

/** A record with a TTL of 0 seconds. */
const record = (owner: string, type: number, data: Buffer) => {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(owner), head, data]);
};

const bytesOf = ({ bits, value }: { bits: number; value: bigint }) =>
  Buffer.from(value.toString(16).padStart(bits / 4, "0"), "hex");

/** The records that answer a query of this type. */
function answersOf(name: string, type: number, { addresses, chain = [] }: Records): Buffer[] {
  const owners = [name, ...chain];
  const links = chain.map((to, i) => record(owners[i] ?? name, types.CNAME, encodeName(to)));
  const bits = type === types.A ? 32 : type === types.AAAA ? 128 : 0;
  const found = addresses.flatMap((text) => parseAddress(text) ?? []).filter((address) => address.bits === bits);
  return [...links, ...found.map((address) => record(owners.at(-1) ?? name, type, bytesOf(address)))];
}

/**
 * A DNS server on this address, on the standard port. Each query calls `recordsOf` with the number of IPv4 queries for
 * that name so far, so a name can change its addresses between lookups.
 */
export async function startNameServer(
  address: string,
  recordsOf: (name: string, lookups: number) => Records | undefined,
): Promise<void> {
  const lookups = new Map<string, number>();
  const server = createSocket("udp4");
  server.on("message", (query, { port, address }) => {
    const { name, end } = decodeName(query);
    const type = query.readUInt16BE(end);
    const count = (lookups.get(name) ?? 0) + (type === types.A ? 1 : 0);
    lookups.set(name, count);
    const records = recordsOf(name, count);
    const answers = records ? answersOf(name, type, records) : [];
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    // Flags: response, authoritative, recursion available; NXDOMAIN if the name is unknown.
    head.writeUInt16BE(records ? 0x8580 : 0x8583, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(answers.length, 6);
    server.send(Buffer.concat([head, query.subarray(12, end + 4), ...answers]), port, address);
  });
  const domain = 53;
  server.bind(domain, address);
  await once(server, "listening");
  server.unref();
}
