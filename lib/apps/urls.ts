import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { recordOf, tokenOf } from "./domains.ts";
import type { OtherServers } from "./other-servers.ts";
import type { Registry } from "./registry.ts";
import { appsRepository } from "./repository.ts";
import type { AppKey } from "./supervisor.ts";

type Environment = Omit<AppKey, "organization_id">;
type Deployment = Environment & { readonly id: string; readonly status: string };

interface Ports {
  readonly store: Store;
  readonly domains: readonly string[];
  readonly appsUrl: () => string | undefined;
  readonly registry: Registry | undefined;
  readonly others: OtherServers | undefined;
  /** What runs deployments; undefined where they are simulated. */
  readonly runtimeName: () => string | undefined;
}

/** Whether a domain serves, and what proves that its organization may have it. */
export interface DomainStatus {
  readonly name: string;
  readonly status: "active" | "pending";
  readonly record: string;
  readonly token: string;
  readonly reason: string | null;
}

/** Without a runtime, an environment has no URL, and only its domains are shown, if there are any. */
export interface EnvironmentApp {
  domains?: string[];
  domain_status?: DomainStatus[];
  url?: string | null;
}

const statusOf = ({ name, status, organization_id, reason }: Row<"app_domains">): DomainStatus => {
  return { name, status, record: recordOf(name), token: tokenOf(organization_id), reason };
};

/** The hosts that the service itself gives an environment. */
export const hostsUnder = (domains: readonly string[], slug: string) => domains.map((domain) => `${slug}.${domain}`);

/** Where apps are reached: their hosts, and the URLs that callers see. */
export function createAppUrls({ store, domains, appsUrl, registry, others, runtimeName }: Ports) {
  const rows = store.using(appsRepository);

  /** The URL of an environment: that of the server that runs it. */
  const urlOf = ({ slug, runtime_id = null }: { slug: string; runtime_id?: string | null }): string | null => {
    const base = registry?.find(runtime_id)?.apps_url || appsUrl();
    return base?.replace("://", `://${slug}.`) ?? null;
  };

  return {
    urlOf,

    hostsOf: async (key: Environment, slug: string, tx?: Tx) => [
      ...hostsUnder(domains, slug),
      ...(await rows(tx).domainsOf(key)).filter(({ status }) => status === "active").map(({ name }) => name),
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
        const its = own.filter((one) => one.environment === environment);
        const domains = its.map(({ name }) => name);
        const shown = its.length > 0 ? { domains, domain_status: its.map(statusOf) } : {};
        return runtimeName() === undefined ? shown : { domains, ...shown, url: app ? urlOf(app) : null };
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
