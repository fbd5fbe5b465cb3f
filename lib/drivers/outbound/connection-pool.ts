import { type ClientRequest, Agent as HttpAgent } from "node:http";
import type { Agent, AgentOptions } from "node:https";
import type { Duplex } from "node:stream";
import { https } from "../../kernel/lazy-node-modules.ts";
import { descriptorShares } from "../../kernel/node/descriptors.ts";
import { milliseconds } from "../../kernel/text/duration.ts";

const maxIdlePerOrigin = 32;
/** The limit of idle connections. It is lower if the process may open few descriptors. */
const maxIdle = Math.min(256, Math.ceil(descriptorShares().requests / 4));
const idleTimeout_ms = milliseconds("15s");

/** A keep-alive pool, keyed by address, port and name. It keeps the newest `maxIdle` idle connections. */
function createKeepAliveAgent(options: AgentOptions): Agent {
  const idle = new Set<Duplex>();
  const watched = new WeakSet<Duplex>();
  const { Agent } = https();
  return new (class extends Agent {
    override keepSocketAlive(socket: Duplex): unknown {
      if (!watched.has(socket)) socket.once("close", () => idle.delete(socket));
      watched.add(socket);
      idle.add(socket);
      const [oldest] = idle;
      if (idle.size > maxIdle) oldest?.destroy();
      return super.keepSocketAlive(socket);
    }

    override reuseSocket(socket: Duplex, request: ClientRequest): void {
      idle.delete(socket);
      super.reuseSocket(socket, request);
    }
  })(options);
}

/** The connections of requests. The mode `start` checks certificates; `ca` replaces Node's authorities. */
export function createConnectionPool(mode: "dev" | "start", ca: readonly string[] | undefined) {
  const plain = new HttpAgent();
  let opened: ReturnType<typeof createSecureAgents> | undefined;
  const secure = () => {
    opened ??= createSecureAgents({ rejectUnauthorized: mode === "start", ...(ca ? { ca: [...ca] } : {}) });
    return opened;
  };
  return {
    /** A new connection per request, without TLS. */
    plain,
    secure,
    forBackend: (isSecure: boolean): HttpAgent => (isSecure ? secure().backend : plain),
    close: () => opened?.keepAlive.destroy(),
  };
}

function createSecureAgents(tls: AgentOptions) {
  const { Agent } = https();
  return {
    /** Connections that stay open for the next request. */
    keepAlive: createKeepAliveAgent({
      ...tls,
      keepAlive: true,
      maxFreeSockets: maxIdlePerOrigin,
      timeout: idleTimeout_ms,
    }),
    /** A new TLS connection per request. */
    single: new Agent({ ...tls, keepAlive: false }),
    /** Requests to backends carry the operator's key, so their certificates are checked in the mode dev too. */
    backend: new Agent({ ...tls, rejectUnauthorized: true, keepAlive: false }),
  };
}
