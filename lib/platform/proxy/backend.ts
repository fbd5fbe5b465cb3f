import { Agent, type ClientRequestArgs } from "node:http";
import { Socket } from "node:net";
import { within } from "../../kernel/node/promises.ts";

/** The backend of an app: a running instance, or one that is starting. */
export interface Backend {
  /** The port on 127.0.0.1 that takes requests; undefined while the app is down. */
  readonly port: number | undefined;
  /** Resolves to true once it takes requests, or to false after `within_ms`. */
  up(within_ms: number): Promise<boolean>;
}

/**
 * An app may answer and close while the body is still being sent. Failed writes are ignored, so the answer is read.
 */
class PatientSocket extends Socket {
  override _write(chunk: unknown, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    super._write(chunk, encoding, () => done());
  }
  override _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], done: (error?: Error | null) => void): void {
    super._writev?.(chunks, () => done());
  }
}

/** Opens a new connection for each request. */
class SingleUse extends Agent {
  override createConnection({ port, host }: ClientRequestArgs): Socket {
    return new PatientSocket().setNoDelay(true).connect(Number(port), host ?? "127.0.0.1");
  }
}

/** A backend with its open requests and WebSockets. */
export type Target = ReturnType<typeof createTarget>;

export function createTarget(backend: Backend) {
  // Apps close idle connections after some seconds. A request that runs into such a close is sent again.
  const agent = new Agent({ keepAlive: true, keepAliveMsecs: 10_000, maxFreeSockets: 256, scheduling: "lifo" });
  const single = new SingleUse();
  const sockets = new Set<() => void>();
  let inHand = 0;
  let isEmpty = () => {};
  return {
    backend,
    agent,
    single,
    /** Counts a request until the returned function is called. */
    take(): () => void {
      inHand += 1;
      return () => {
        inHand -= 1;
        if (inHand === 0) isEmpty();
      };
    },
    /** Registers a WebSocket, which `end` closes. Returns the function that unregisters it. */
    opened(end: () => void): () => void {
      sockets.add(end);
      return () => sockets.delete(end);
    },
    /** Closes the WebSockets, whose clients reconnect, and waits for open requests, at most `within_ms`. */
    async drain(within_ms: number): Promise<void> {
      for (const end of sockets) end();
      const empty = new Promise<void>((resolve) => {
        isEmpty = resolve;
      });
      if (inHand > 0) await within(within_ms, empty, undefined);
      agent.destroy();
    },
  };
}
