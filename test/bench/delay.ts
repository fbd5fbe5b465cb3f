import { createConnection, createServer, type Socket } from "node:net";

/** A network between the servers and their database: delays data in both directions by a number of milliseconds. */
const [port = "0", ms = "0"] = process.argv.slice(2);

const later = (from: Socket, to: Socket) => {
  from.setNoDelay(true);
  from.on("data", (data) => setTimeout(() => to.writable && to.write(data), Number(ms)));
  from.on("close", () => setTimeout(() => to.destroy(), Number(ms)));
  from.on("error", () => {});
};

const server = createServer((socket) => {
  const database = createConnection(Number(port), "127.0.0.1");
  later(socket, database);
  later(database, socket);
}).listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.({ port: typeof address === "object" ? address?.port : 0 });
});
process.on("disconnect", () => process.exit());
