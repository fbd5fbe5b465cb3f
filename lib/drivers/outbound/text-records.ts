import type { Resolver } from "node:dns/promises";
import { dns } from "../../kernel/lazy-node-modules.ts";

/** The TXT records of a name; empty if it has none. Rejects if no name server answers. */
export type TextRecords = (name: string) => Promise<readonly string[]>;

const isAbsent = (error: unknown) => ["ENOTFOUND", "ENODATA"].includes((error as { code?: string }).code ?? "");

/** Queries these name servers (`address` or `address:port`), by default the machine's. Does not cache. */
export function createTextRecords(servers: readonly string[]): TextRecords {
  let resolver: Resolver | undefined;
  const createResolver = () => {
    const created = new (dns().Resolver)({ timeout: 2_000, tries: 2 });
    if (servers.length > 0) created.setServers(servers);
    return created;
  };
  return async (name) => {
    try {
      resolver ??= createResolver();
      return (await resolver.resolveTxt(name)).map((parts) => parts.join(""));
    } catch (error) {
      if (isAbsent(error)) return [];
      throw error;
    }
  };
}
