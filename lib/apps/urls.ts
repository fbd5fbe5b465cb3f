import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { OtherServers } from "./other-servers.ts";
import type { Registry } from "./registry.ts";
import { appsRepository } from "./repository.ts";
import type { AppKey } from "./supervisor.ts";

type Environment = Omit<AppKey, "organization_id">;
type Deployment = Environment & { readonly id: string; readonly status: string };

interface Ports {
  readonly store: Store;
  readonly domain: string;
  readonly appsUrl: () => string | undefined;
  readonly registry: Registry | undefined;
  readonly others: OtherServers | undefined;
  /** What runs deployments; undefined where they are simulated. */
  readonly runtimeName: () => string | undefined;
}

/** Without a runtime, an environment has no URL, and only its domains are shown, if there are any. */
export interface EnvironmentApp {
  domains?: string[];
  url?: string | null;
}

/** Where apps are reached: their hosts, and the URLs that callers see. */
export function createAppUrls({ store, domain, appsUrl, registry, others, runtimeName }: Ports) {
  const rows = store.using(appsRepository);

  /** The URL of an environment: that of the server that runs it. */
  const urlOf = ({ slug, runtime_id = null }: { slug: string; runtime_id?: string | null }): string | null => {
    const base = registry?.find(runtime_id)?.apps_url || appsUrl();
    return base?.replace("://", `://${slug}.`) ?? null;
  };

  return {
    urlOf,

    hostsOf: async (key: Environment, slug: string, tx?: Tx) => [
      `${slug}.${domain}`,
      ...(await rows(tx).domainsOf(key)).map(({ name }) => name),
    ],

    /** The URL of what another server runs at a host. */
    async urlElsewhere(host: string): Promise<string | undefined> {
      const app = await others?.atHost(host);
      return (app && urlOf(app)) ?? undefined;
    },

    /** The domains and URLs of a project's environments, by name. */
    async ofProject(project_id: string, tx?: Tx): Promise<(environment: string) => EnvironmentApp> {
      const own = await rows(tx).domainsOfProject({ project_id });
      const apps = new Map((await rows(tx).ofProject({ project_id })).map((one) => [one.environment, one]));
      return (environment) => {
        const app = apps.get(environment);
        const domains = own.filter((one) => one.environment === environment).map(({ name }) => name);
        if (runtimeName() === undefined) return domains.length > 0 ? { domains } : {};
        return { domains, url: app ? urlOf(app) : null };
      };
    },

    /** The URLs of deployments that are live, as the rows say; undefined where this server knows them without. */
    urlsOf:
      others &&
      (async (given: readonly Deployment[]) => {
        const active = given.filter(({ status }) => status === "active");
        const live = await others.live(runtimeName() === undefined ? [] : active);
        return ({ id }: Pick<Deployment, "id">) => {
          const app = live.get(id);
          return app ? urlOf(app) : null;
        };
      }),
  };
}
