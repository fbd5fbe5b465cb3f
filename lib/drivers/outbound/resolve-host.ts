import { lookup } from "node:dns/promises";
import { systemTimer } from "../../kernel/clock.ts";

/** The addresses of a host name. Rejects where the name has none. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

const systemLookup: ResolveHost = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

/**
 * RFC 6761: names below `localhost` always lead to this machine. Few systems know this rule, and no name server may
 * override it.
 */
const loopback = ["127.0.0.1", "::1"];

const noneWithout =
  (resolve: ResolveHost, limit_ms: number): ResolveHost =>
  (host) =>
    new Promise((done) => {
      const none = () => done([]);
      const stopTimer = systemTimer(limit_ms, none);
      resolve(host).then(done, none).finally(stopTimer);
    });

/** Requests to one name share a lookup in flight: Node runs lookups on the few threads that also read files. */
export function createHostResolver(resolve: ResolveHost = systemLookup) {
  const inFlight = new Map<string, Promise<readonly string[]>>();
  const shared: ResolveHost = async (host) => {
    const lookedUp = inFlight.get(host) ?? resolve(host).finally(() => inFlight.delete(host));
    inFlight.set(host, lookedUp);
    return lookedUp;
  };
  /** The system decides the order of its addresses. On a busy machine, it may answer late. */
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
    /** No address if a name has none or its lookup takes longer than this. */
    noneAfter: (limit_ms: number): ResolveHost => withLocalhost(noneWithout(shared, limit_ms)),
  };
}
