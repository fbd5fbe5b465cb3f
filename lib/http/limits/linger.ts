import type { IncomingMessage } from "node:http";
import { systemTimer } from "../../kernel/clock.ts";

/** How much of a body is still read after the response, and for how long. */
const max = { bytes: 16 * 1024 * 1024, time: "30s" };

/**
 * Lets a client that is still sending a body read the last response of its connection. Node would close the connection
 * at once, and most clients would then report a broken connection instead of the response. This closes only the
 * server's end, and reads and drops the rest of the body (RFC 9112, section 9.6).
 */
export function lingerAfter(request: IncomingMessage): void {
  const { headers, socket } = request;
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return;
  // Node calls this after the last response of a connection.
  socket.destroySoon = () => {
    const close = () => {
      Reflect.deleteProperty(socket, "destroySoon");
      socket.destroySoon();
    };
    if (request.complete || request.destroyed || socket.destroyed) return close();
    const last = socket.bytesRead + max.bytes;
    socket.once(
      "close",
      systemTimer(max.time, () => socket.destroy()),
    );
    request.removeAllListeners("data").once("end", close);
    request.on("data", () => socket.bytesRead > last && socket.destroy()).resume();
    socket.end();
  };
}
