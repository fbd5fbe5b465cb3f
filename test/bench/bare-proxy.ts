import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** The minimum of any proxy in Node: forwards each request over keep-alive connections. */
export async function bareProxy(port: number) {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 256 });
  const server = createServer((asked, answer) => {
    const sent = request({
      host: "127.0.0.1",
      port,
      agent,
      method: asked.method,
      path: asked.url,
      headers: asked.headers,
    });
    sent.on("response", (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    asked.pipe(sent);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => void server.close() };
}
