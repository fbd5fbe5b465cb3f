import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** A DNS server on loopback that only answers TXT queries. `names` lists the queried names in order. */
export async function startTextServer(t: TestContext, records: Map<string, readonly string[]>) {
  const names: string[] = [];
  const server = createSocket("udp4");
  server.on("message", (query, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join(".").toLowerCase();
    names.push(name);
    const answers = (records.get(name) ?? []).map((text) => {
      // A pointer to the query's name, type TXT, class IN, TTL 0; the text in parts of 20 bytes.
      const parts = (text.match(/.{1,20}/g) ?? [""]).flatMap((part) => [part.length, ...Buffer.from(part)]);
      return Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 0, parts.length >> 8, parts.length & 255, ...parts]);
    });
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | (answers.length > 0 ? 0 : 3), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(answers.length, 6);
    server.send(Buffer.concat([head, query.subarray(12, at + 5), ...answers]), port, address);
  });
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, names };
}
