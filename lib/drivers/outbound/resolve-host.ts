import { dns } from "../../kernel/lazy-node-modules.ts";
import { within } from "../../kernel/node/promises.ts";

/** The addresses of a host name. Rejects if it has none. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

const systemLookup: ResolveHost = async (host) =>
  (await dns().lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

/** RFC 6761: names below `localhost` are this machine. Few systems do that, and no name server may override it. */
const loopback = ["127.0.0.1", "::1"];

const noneWithout =
  (resolve: ResolveHost, limit_ms: number): ResolveHost =>
  (host) => {
    const addresses = resolve(host).catch(() => []);
    return within(limit_ms, addresses, []);
  };

/** Concurrent requests for one name share a lookup. Node runs lookups on the few threads that also read files. */
export function createHostResolver(resolve: ResolveHost = systemLookup) {
  const inFlight = new Map<string, Promise<readonly string[]>>();
  const shared: ResolveHost = async (host) => {
    const lookedUp = inFlight.get(host) ?? resolve(host).finally(() => inFlight.delete(host));
    inFlight.set(host, lookedUp);
    return lookedUp;
  };
  /** Asks the system, which decides the order of the addresses. On a busy machine it may answer late. */
  const localhost = noneWithout(shared, 1_000);
  const withLocalhost =
    (lookUp: ResolveHost): ResolveHost =>
    async (host) => {
      if (host.endsWith(".localhost")) return loopback;
      if (host !== "localhost") return lookUp(host);
      const addresses = await localhost(host);
      return addresses.length > 0 ? addresses : loopback;
    };
  return {
    resolve: withLocalhost(shared),
    /** Empty if the name has no addresses or the lookup exceeds this limit. */
    noneAfter: (limit_ms: number): ResolveHost => withLocalhost(noneWithout(shared, limit_ms)),
  };
}
