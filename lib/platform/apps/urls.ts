import * as v from "valibot";
import { byEnvironment } from "../../features/environments/domains.ts";
import { type Environment, type EnvironmentApp, nameOf } from "../../features/environments/live-apps.ts";
import { protectionOf } from "../../features/environments/protection.ts";
import type { EnvironmentRange } from "../../kernel/page.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Placement } from "./placement.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository } from "./repository.ts";
import type { Schedules } from "./schedules.ts";
import type { Access } from "./supervisor.ts";

type Deployment = Environment & { readonly id: string; readonly status: string };

interface Ports extends Pick<AppPorts, "store" | "domains" | "custom" | "ownHosts" | "isShared"> {
  readonly schedules: Pick<Schedules, "ofRange">;
  readonly placement: Placement;
}

/** The hosts that the service itself assigns to an environment. */
export const hostsUnder = (domains: readonly string[], slug: string) => domains.map((domain) => `${slug}.${domain}`);

const hostOfApps = ({ apps_url }: Row<"runtimes">) => (apps_url === "" ? [] : [new URL(apps_url).hostname]);

/** The addresses of apps: their hosts, and the URLs that callers see. */
export function createAppUrls(ports: Ports) {
  const { store, domains, custom, ownHosts, placement } = ports;
  const { runtimeName } = placement;
  const rows = store.using(appsRepository);

  /** The URL of an environment, on the server that runs it. */
  const urlOf = ({ slug, runtime_id = null }: { slug: string; runtime_id?: string | null }): string | null => {
    return placement.appsUrl(runtime_id)?.replace("://", `://${slug}.`) ?? null;
  };

  /** The app at a host that a server assigns. */
  const assignedAt = async (host: string): Promise<Row<"apps"> | undefined> => {
    const served = [...domains, ...placement.runtimes().flatMap(hostOfApps)];
    const slugs = served.flatMap((one) => (host.endsWith(`.${one}`) ? [host.slice(0, -one.length - 1)] : []));
    const apps = await Promise.all([...new Set(slugs)].map((slug) => rows().ofSlug({ slug })));
    return apps.find((app) => app !== undefined);
  };

  /** The app at a host, on this server or another. */
  const atHost = async (host: string): Promise<Row<"apps"> | undefined> => {
    const key = await custom.active(host);
    return key ? rows().find(key) : assignedAt(host);
  };

  const liveApps = async (active: readonly Environment[]) => {
    const keys = new Map(active.map((one) => [nameOf(one), one]));
    const apps = await Promise.all([...keys.values()].map((key) => rows().find(key)));
    return new Map(apps.flatMap((app) => (app?.deployment_id ? [[app.deployment_id, app]] : [])));
  };

  return {
    urlOf,

    accessOf: async (key: Environment, slug: string, tx?: Tx): Promise<Access> => ({
      hosts: [
        ...hostsUnder(domains, slug),
        ...(await custom.of(key, tx)).filter(({ status }) => status === "active").map(({ name }) => name),
        // A custom domain may be older than the option that made it a host of the service.
      ].filter((host) => !ownHosts.includes(host)),
      protection: protectionOf((await rows(tx).protectOf(key))?.protect),
    }),

    /** The URL for visitors of an environment: at its first active domain, else its first domain, else its own host. */
    async visitedAt(key: Environment): Promise<string | null> {
      const app = runtimeName() === undefined ? undefined : await rows().find(key);
      const assignedUrl = app ? urlOf(app) : null;
      const all = assignedUrl === null ? [] : await custom.of(key);
      const domain = all.find(({ status }) => status === "active") ?? all[0];
      if (assignedUrl === null || !domain) return assignedUrl;
      const url = new URL(assignedUrl);
      url.hostname = domain.name;
      return url.origin;
    },

    async urlElsewhere(host: string): Promise<string | undefined> {
      const app = placement.runtimes().length === 0 ? undefined : await atHost(host);
      return app && !placement.isHere(app) ? (urlOf(app) ?? undefined) : undefined;
    },

    /** Whether a host leads to an environment, even to one that has had no deployment yet. */
    hasHost: async (host: string) => ((await custom.active(host)) ?? (await assignedAt(host))) !== undefined,

    async ofRange(range: EnvironmentRange, tx?: Tx): Promise<(environment: string) => EnvironmentApp> {
      const domainsOf = await custom.ofRange(range, tx);
      const apps = byEnvironment(await rows(tx).ofRange(range));
      const schedules = byEnvironment(await ports.schedules.ofRange(range, tx));
      return (environment) => {
        const [app] = apps(environment);
        const shown = domainsOf(environment);
        if (runtimeName() === undefined) return shown;
        const scheduled = schedules(environment).map(({ name, cron, command, timeout_s, next_at }) => {
          return { name, cron, command, timeout_s, next_at };
        });
        return {
          ...{ domains: [], ...shown, url: app ? urlOf(app) : null },
          data_bytes: app?.data_bytes == null ? null : Number(app.data_bytes),
          restarts: app?.restarts_since ? { count: Number(app.restarts), since: app.restarts_since } : null,
          workers: app?.workers ? v.parse(v.array(v.string()), JSON.parse(app.workers)) : [],
          schedules: scheduled,
        };
      };
    },

    urlsOf: ports.isShared
      ? async (given: readonly Deployment[]) => {
          const active = given.filter(({ status }) => status === "active");
          const apps = await liveApps(runtimeName() === undefined ? [] : active);
          return ({ id }: Pick<Deployment, "id">) => {
            const app = apps.get(id);
            return app ? urlOf(app) : null;
          };
        }
      : undefined,
  };
}
