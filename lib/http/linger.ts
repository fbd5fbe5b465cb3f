import type { IncomingMessage } from "node:http";
import { systemTimer } from "../kernel/clock.ts";

/** How much of a body is still read after its answer, and for how long. The size is looked at ten times a second. */
const most = { bytes: 16 * 1024 * 1024, looks: 300 };

/**
 * Lets a client read the last answer of its connection, though it still sends a body. Node would close the connection at
 * once: the system then tells the client of a broken connection, and most clients report that instead of the answer.
 * Here only this end closes, and the rest of the body is read and dropped (RFC 9112, section 9.6).
 */
export function lingerAfter(request: IncomingMessage): void {
  const { headers, socket } = request;
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return;
  // Node calls it after the last answer of a connection.
  socket.destroySoon = () => {
    const close = () => {
      Reflect.deleteProperty(socket, "destroySoon");
      socket.destroySoon();
    };
    if (request.complete || request.destroyed || socket.destroyed) return close();
    const last = socket.bytesRead + most.bytes;
    const look = (looks: number) => {
      if (looks === 0 || socket.bytesRead > last) return void socket.destroy();
      cancel = systemTimer("100ms", () => look(looks - 1));
    };
    let cancel = () => {};
    socket.once("close", () => cancel());
    look(most.looks);
    request.removeAllListeners("data").once("end", close).resume();
    socket.end();
  };
}

/** Whether the last answer of this connection was given, so that a further request on it counts no more. */
export const isAnswered = ({ socket }: IncomingMessage): boolean => socket.writableEnded;
