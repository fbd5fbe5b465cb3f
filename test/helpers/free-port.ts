import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { firstOf } from "./until.ts";

/**
 * A free port below those that the system hands out, so that no other socket takes it before its use, or while a server
 * is stopped.
 */
export const freePort = () =>
  firstOf(async () => {
    const port = randomInt(12_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    if (isFree) await new Promise((closed) => server.close(closed));
    return isFree ? port : undefined;
  });
