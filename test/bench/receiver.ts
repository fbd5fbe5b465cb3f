import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { certificate } from "../helpers/certificates.ts";

/** A receiver in its own process: reads each request to its end and responds with 200. */
const server = createServer({ ...certificate(), keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume();
  request.on("end", () => response.end("ok"));
});
server.listen(0, "127.0.0.1", () => {
  process.send?.({ url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook` });
});
process.on("disconnect", () => process.exit());
