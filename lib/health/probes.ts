import type { Answer } from "../http/answer.ts";
import type { Authenticator } from "../http/authenticate.ts";
import { shuttingDown } from "../http/cancellation.ts";
import { isLocal } from "../http/hosts.ts";
import type { RequestContext } from "../http/request-context.ts";
import { Problem } from "../kernel/errors.ts";
import { contentType } from "./prometheus-text.ts";

interface Ports {
  readonly gate: Authenticator;
  readonly closing: AbortSignal;
  /** Rejects where the store cannot be read. */
  readonly readable: () => Promise<unknown>;
  /** The metrics as text. */
  readonly metrics: () => Promise<string>;
  /** Behind a proxy everybody comes from the proxy's address, which is often loopback: then metrics need a key. */
  readonly behindProxy: boolean;
}

const paths: readonly string[] = ["/healthz", "/readyz", "/metrics"];
const plain = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/**
 * What supervisors ask, beside `/v1`: `/healthz` whether the process answers at all, `/readyz` whether it takes work, and
 * `/metrics` what it does. The first two need no key and say nothing else.
 */
export function createHealth({ gate, closing, readable, metrics, behindProxy }: Ports) {
  const admit = async (exchange: RequestContext) => {
    if (!behindProxy && isLocal(exchange)) return;
    const { role, key_id } = await gate.enter(exchange, true);
    exchange.key_id = key_id;
    if (role !== "owner" && role !== "admin")
      throw new Problem("insufficient_role", `metrics need the role owner or admin, and the key's user is ${role}`);
  };

  const ready = async () => {
    try {
      await readable();
    } catch (cause) {
      const headers = { "retry-after": "5" };
      throw new Problem("unavailable", "the store cannot be read at the moment", { headers, cause });
    }
  };

  return async (exchange: RequestContext): Promise<Answer | undefined> => {
    const { path, method, id: request_id } = exchange;
    if (!paths.includes(path)) return undefined;
    exchange.isRoutine = true;
    if (closing.aborted && path !== "/healthz") throw shuttingDown();
    if (path === "/metrics") await admit(exchange);
    if (method !== "GET" && method !== "HEAD")
      throw new Problem("method_not_allowed", "this path takes GET, HEAD", { headers: { allow: "GET, HEAD" } });
    if (path === "/metrics")
      return { status: 200, headers: { ...plain, "content-type": contentType }, body: await metrics(), request_id };
    if (path === "/readyz") await ready();
    return {
      status: 200,
      headers: { ...plain, "content-type": "application/json" },
      body: '{"status":"ok"}',
      request_id,
    };
  };
}
