import type { Answer } from "../../http/answer.ts";
import { type Authentication, type Authenticator, unauthenticated } from "../../http/authenticate.ts";
import { isLocal } from "../../http/hosts.ts";
import type { RequestContext } from "../../http/request-context.ts";
import { type Access, type Route, unnamed, withOtherMethods } from "../../http/route.ts";
import { isLogged, Problem } from "../../kernel/errors.ts";
import { isSameSecret } from "../../kernel/secrets/constant-time.ts";
import { contentType } from "./prometheus-text.ts";

interface Ports {
  readonly mode: "dev" | "start";
  readonly authenticator: Pick<Authenticator, "byKey">;
  /** Rejects if the store cannot be read. */
  readonly readable: () => Promise<unknown>;
  /** Why the store cannot be written; undefined if it can. */
  readonly obstacle: () => string | undefined;
  readonly metrics: (organization_id?: string) => Promise<string>;
  /** Behind a proxy, every request has the proxy's address, often loopback. Then metrics need a key. */
  readonly behindProxy: boolean;
  readonly metricsKey: string | undefined;
}

const plain = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;
const ok = (request_id: string, state: object = { status: "ok" }): Answer => ({
  status: 200,
  headers: { ...plain, "content-type": "application/json" },
  body: JSON.stringify(state),
  request_id,
});

/**
 * The routes for supervisors, outside `/v1`: `/healthz` says whether the process responds, `/readyz` whether it accepts
 * work, and `/metrics` returns its metrics. The first two need no key and reveal nothing else. A store that cannot be
 * written counts as ready: the server can still serve reads, and removing it would make the outage worse.
 */
export function healthRoutes(ports: Ports): Route[] {
  const { readable, obstacle, metrics } = ports;
  const routine = { method: "GET", name: unnamed, isRoutine: true } as const;
  return withOtherMethods([
    { ...routine, path: "/healthz", access: () => unauthenticated, outlivesShutdown: true, answer: ({ id }) => ok(id) },
    {
      ...routine,
      path: "/readyz",
      access: () => unauthenticated,
      async answer({ id }) {
        await readable().catch((cause) => {
          if (isLogged(cause)) throw cause;
          const headers = { "retry-after": "5" };
          throw new Problem("unavailable", "the store cannot be read at the moment", { headers, cause });
        });
        const reason = obstacle();
        return reason === undefined ? ok(id) : ok(id, { status: "degraded", reason });
      },
    },
    {
      ...routine,
      path: "/metrics",
      access: metricsAccess(ports),
      async answer({ id: request_id }, { caller, key_id }) {
        const body = await metrics(key_id === null ? undefined : caller.organization_id);
        return { status: 200, headers: { ...plain, "content-type": contentType }, body, request_id };
      },
    },
  ]);
}

/**
 * Clients on this machine without a key, and the operator's key, see the metrics of the whole service. Owners and
 * admins see those of their organization. If a key is sent, it decides, even on this machine.
 */
const metricsAccess =
  ({ mode, authenticator: { byKey }, behindProxy, metricsKey }: Ports): Access =>
  async (request: RequestContext): Promise<Authentication> => {
    const given = request.header("authorization");
    if (given === undefined && !behindProxy && isLocal(request, mode)) return unauthenticated;
    const [, token] = /^Bearer +(\S+) *$/i.exec(given ?? "") ?? [];
    if (metricsKey !== undefined && token !== undefined && isSameSecret(token, metricsKey)) return unauthenticated;
    const authentication = await byKey(request);
    const { role } = authentication.caller;
    if (authentication.refusal || role === "owner" || role === "admin") return authentication;
    const message = `metrics need the role owner or admin, and the key's user is ${role}`;
    return { ...authentication, refusal: new Problem("insufficient_role", message) };
  };
