import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

/**
 * A proxy between a service and its database; `change` may alter the data that the database sends, or hold it. Its
 * second argument is the connection.
 */
export async function between(
  t: TestContext,
  url: string,
  change: (data: Buffer, connection: Socket) => Buffer | Promise<Buffer> = (data) => data,
) {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isSilent = false;
  let waits = 0;
  let sent = "";
  const server = createServer((socket) => {
    const database = createConnection(Number(target.port), "127.0.0.1");
    for (const one of [socket, database]) {
      sockets.add(one);
      one.on("error", () => {});
    }
    let isAnswered = false;
    socket.on("data", (data) => {
      isAnswered = false;
      sent += data.toString("latin1");
      return isSilent || database.write(data);
    });
    let last: Promise<unknown> = Promise.resolve();
    database.on("data", (data) => {
      if (!isAnswered) waits += 1;
      isAnswered = true;
      last = last.then(async () => {
        const changed = await change(data, database);
        return isSilent || socket.write(changed);
      });
    });
    socket.on("close", () => database.destroy());
    database.on("close", () => socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(url), { port: String(port) }).href,
    /** How often the service has waited for an answer, on any connection. */
    waits: () => waits,
    /** All that the service has sent so far. */
    sent: () => sent,
    /** With `true`, drops all data from now on, without an error. */
    silence(silent: boolean) {
      isSilent = silent;
    },
  };
}
