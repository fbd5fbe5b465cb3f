import { type ClientRequest, Agent as HttpAgent } from "node:http";
import { Agent } from "node:https";
import type { Duplex } from "node:stream";
import { descriptorShares } from "../../kernel/descriptors.ts";
import { milliseconds } from "../../kernel/duration.ts";

const maxIdlePerOrigin = 32;
/** Lower if the process has a low descriptor limit. */
const maxIdle = Math.min(256, Math.ceil(descriptorShares().requests / 4));
const idleTimeout_ms = milliseconds("15s");

/** A keep-alive pool, keyed by address, port and name. It keeps the newest `maxIdle` idle connections. */
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

/** The connections of requests. The mode `start` checks certificates; `ca` replaces Node's authorities. */
export function createConnectionPool(mode: "dev" | "start", ca: readonly string[] | undefined) {
  const tls = { rejectUnauthorized: mode === "start", ...(ca ? { ca: [...ca] } : {}) };
  const keepAlive = new KeepAliveAgent({
    ...tls,
    keepAlive: true,
    maxFreeSockets: maxIdlePerOrigin,
    timeout: idleTimeout_ms,
  });
  const single = new Agent({ ...tls, keepAlive: false });
  // Requests to backends carry the operator's key, so their certificates are checked in the mode dev too.
  const backend = new Agent({ ...tls, rejectUnauthorized: true, keepAlive: false });
  const plain = new HttpAgent();
  return {
    /** Connections that stay open for the next request. */
    keepAlive,
    /** A new TLS connection per request. */
    single,
    /** A new connection per request, without TLS. */
    plain,
    /** A new connection per request to a backend. */
    forBackend: (secure: boolean): HttpAgent => (secure ? backend : plain),
    close: () => keepAlive.destroy(),
  };
}
