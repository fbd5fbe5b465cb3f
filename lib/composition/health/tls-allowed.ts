import { unauthenticated } from "../../http/authenticate.ts";
import { isLocal } from "../../http/hosts.ts";
import { notHere, type Route, unnamed } from "../../http/route.ts";
import { Problem } from "../../kernel/errors.ts";

interface Ports {
  readonly mode: "dev" | "start";
  readonly hasHost: (host: string) => Promise<boolean>;
  readonly publicUrl: string | undefined;
}

/** Headers of which a forwarding proxy adds one. */
const forwarding = /^(forwarded|via|x-(original-)?forwarded-.*|x-real-ip|(x|true)-client-ip|cf-connecting-ip)$/;
const maxLength = 253;

/**
 * The route that a proxy on this machine asks before it obtains a certificate for a host. Other clients cannot see it,
 * because its answers reveal which hosts exist.
 */
export function tlsRoute({ mode, hasHost, publicUrl }: Ports): Route {
  const ownHost = publicUrl && new URL(publicUrl).hostname;
  return {
    method: "GET",
    path: "/tls-allowed",
    name: unnamed,
    isRoutine: true,
    access(request) {
      const names = Object.keys(request.incoming?.headers ?? {});
      if (!isLocal(request, mode) || names.some((name) => forwarding.test(name))) throw notHere();
      return unauthenticated;
    },
    async answer({ query, id: request_id }) {
      const [domain = "", ...others] = query().getAll("domain");
      const host = domain.toLowerCase().replace(/\.$/, "");
      // With several hosts in a request, it is unknown which one the proxy means.
      if (others.length > 0 || host.length > maxLength || (host !== ownHost && !(await hasHost(host))))
        throw new Problem("not_found", "no environment has this host");
      const headers = { "cache-control": "no-store", "content-type": "text/plain; charset=utf-8" };
      return { status: 200, headers, body: "yes\n", request_id };
    },
  };
}
