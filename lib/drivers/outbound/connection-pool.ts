import { type ClientRequest, Agent as HttpAgent } from "node:http";
import { Agent } from "node:https";
import type { Duplex } from "node:stream";
import { descriptorShares } from "../../kernel/descriptors.ts";
import { milliseconds } from "../../kernel/duration.ts";

const maxIdlePerOrigin = 32;
/** Low if the process may have few descriptors. */
const maxIdle = Math.min(256, Math.ceil(descriptorShares().requests / 4));
const idleTimeout_ms = milliseconds("15s");

/** Keeps connections alive, by address, port and name; of the idle ones the newest `maxIdle`. */
class KeepAliveAgent extends Agent {
  readonly #idle = new Set<Duplex>();
  readonly #known = new WeakSet<Duplex>();

  override keepSocketAlive(socket: Duplex): unknown {
    if (!this.#known.has(socket)) socket.once("close", () => this.#idle.delete(socket));
    this.#known.add(socket);
    this.#idle.add(socket);
    const [oldest] = this.#idle;
    if (this.#idle.size > maxIdle) oldest?.destroy();
    return super.keepSocketAlive(socket);
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#idle.delete(socket);
    super.reuseSocket(socket, request);
  }
}

/** The connections of requests. Certificates are checked in the mode `start`; `ca` replaces Node's authorities. */
export function createConnectionPool(mode: "dev" | "start", ca: readonly string[] | undefined) {
  const tls = { rejectUnauthorized: mode === "start", ...(ca ? { ca: [...ca] } : {}) };
  const keepAlive = new KeepAliveAgent({
    ...tls,
    keepAlive: true,
    maxFreeSockets: maxIdlePerOrigin,
    timeout: idleTimeout_ms,
  });
  const single = new Agent({ ...tls, keepAlive: false });
  // A backend's request carries the operator's key, so its certificate is checked in the mode dev too.
  const backend = new Agent({ ...tls, rejectUnauthorized: true, keepAlive: false });
  const plain = new HttpAgent();
  return {
    /** Kept for the next request. */
    keepAlive,
    /** A new connection for one request. */
    single,
    /** The same without TLS. */
    plain,
    /** A new connection for one request to a backend. */
    forBackend: (secure: boolean): HttpAgent => (secure ? backend : plain),
    close: () => keepAlive.destroy(),
  };
}
