import { invalid, Problem } from "../kernel/errors.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import { appsRepository } from "./repository.ts";
import type { AppKey } from "./supervisor.ts";

interface Ports {
  readonly store: Store;
  /** Option `apps.domain`. */
  readonly domain: string;
  /** The host of `publicUrl`, which is no app's. */
  readonly ownHost: string | undefined;
}

/** The own host names of environments, each unique in the service. */
export function createDomains({ store, domain, ownHost }: Ports) {
  const rows = store.using(appsRepository);

  const refuse = async (tx: Tx, key: AppKey, name: string, i: number) => {
    if (name === domain || name.endsWith(`.${domain}`))
      throw invalid(`domains.${i}`, `must not be ${domain} or below it: the service gives out those hosts itself`);
    if (name === ownHost) throw invalid(`domains.${i}`, "must not be the host of this service");
    const other = await rows(tx).domain({ name });
    if (other && (other.project_id !== key.project_id || other.environment !== key.environment))
      throw new Problem("domain_taken", `the domain ${name} belongs to another environment; remove it there first`);
  };

  return {
    /** Replaces the domains of an environment. */
    async set(tx: Tx, key: AppKey, names: readonly string[]): Promise<void> {
      for (const [i, name] of names.entries()) await refuse(tx, key, name, i);
      const { organization_id, project_id, environment } = key;
      await rows(tx).removeDomains({ project_id, environment });
      for (const name of new Set(names))
        await rows(tx).insertDomain({ name, organization_id, project_id, environment });
    },
  };
}
