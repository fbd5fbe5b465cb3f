import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { listen } from "../../lib/http/server.ts";
import { createPasswordHashes } from "../../lib/kernel/secrets/password-hash.ts";
import { createProxy } from "../../lib/platform/proxy/proxy.ts";
import { all, open } from "./raw-sockets.ts";

/** The host of the app. */
export const host = "production-web.localhost";

/** A proxy in front of an app; the app answers each connection like this, after its first bytes. */
export async function inFrontOf(
  t: TestContext,
  answer: (socket: Socket, received: string) => void,
  appPort?: number,
  behindProxy = false,
) {
  const heard: string[] = [];
  const app = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      heard.push(chunk.toString("latin1"));
      answer(socket, heard.at(-1) ?? "");
    });
  }).listen(0, "127.0.0.1");
  await once(app, "listening");
  const proxy = createProxy({ behindProxy, passwords: createPasswordHashes() });
  proxy.setHosts("app", [host]);
  const { port } = app.address() as AddressInfo;
  await proxy.route("app", { port: appPort ?? port, up: async () => true });
  const server = await listen({ handle: proxy.handle, upgrade: proxy.upgrade }, { port: 0, host: "127.0.0.1" });
  t.after(async () => {
    await server.close("0s");
    app.close();
  });
  const ask = async (text: string) => {
    const socket = await open(server.port);
    const answered = all(socket);
    socket.write(text);
    return answered;
  };
  return { heard, ask, port: server.port, proxy, appPort: port };
}

/** A GET request to the app. */
export const get = (path: string, connection = "close") =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: ${connection}\r\n\r\n`;
/** For `get`: the request offers a WebSocket. */
export const upgrade = "upgrade\r\nUpgrade: websocket";
