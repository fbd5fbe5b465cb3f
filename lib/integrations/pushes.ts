import type { DeploymentsService } from "../deployments/service.ts";
import type { Endpoints } from "../endpoints/service.ts";
import { foldCase } from "../kernel/case-folding.ts";
import { type Clock, isoOf } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { CodeHostRights } from "../organizations/code-host-rights.ts";
import { indexText } from "../store/index-text.ts";
import type { Store } from "../store/store.ts";
import type { Row } from "../store/tables.ts";
import { pushesRepository } from "./repository.ts";

/** Delivery ids are remembered this long: a code host may send the same push again. */
const retention_ms = milliseconds("7d");

/** A push to a repository: a branch with its commit, or a tag. */
export interface Push {
  readonly repo: string;
  readonly to: { readonly branch: string; readonly commit: string } | { readonly tag: string };
}

export interface PushOrigin {
  /** The integration it was posted to; undefined for the connected app. */
  readonly id: string | undefined;
  /** The code host's delivery id. */
  readonly delivery: string | undefined;
  /** "An integration with a secret of its own is never served unsigned." */
  readonly signed: boolean;
  /** Whether the connected app signed it, and no integration's own secret: the app serves whom the operator names. */
  readonly byApp: boolean;
}

/** The deployment that a push made in an integration. */
export interface Created {
  readonly integration_id: string;
  readonly deployment_id: string;
}

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly endpoints: Endpoints;
  readonly deployments: Pick<DeploymentsService, "push">;
  readonly rights: Pick<CodeHostRights, "serve">;
}

export type PushesService = ReturnType<typeof pushesService>;

/** Inbound pushes: each makes a deployment in every integration of that repository and branch. CONTRACT section 6. */
export function pushesService({ store, clock, endpoints, deployments, rights }: Ports) {
  const pushes = store.using(pushesRepository);

  /** What an integration deploys of a push: the repository and branch that it stores; those of the push are only compared. */
  const orderOf = async (integration: Row<"endpoints">, push: Push, { signed, byApp }: PushOrigin, tx?: Tx) => {
    const { config, secrets } = endpoints.settingsOf(integration);
    const { repo, branch, environment, project_id } = config as Record<string, string>;
    if (integration.status !== "active" || (!signed && secrets.secret !== undefined)) return undefined;
    if (!repo || !branch || !environment || foldCase(repo) !== foldCase(push.repo)) return undefined;
    if ("branch" in push.to && push.to.branch !== branch) return undefined;
    if (byApp && !(await rights.serve(integration.organization_id, repo, tx))) return undefined;
    const ref =
      "tag" in push.to
        ? { branch: null, tag: push.to.tag, commit: null }
        : { branch, tag: null, commit: push.to.commit };
    return { project_id, repo, environment, ...ref };
  };

  return {
    /** The integration that an address names, with its secret if it has one; undefined where there is none. */
    async target(id: string) {
      const found = await endpoints.codeHost(id);
      return found && { secret: endpoints.settingsOf(found).secrets.secret };
    },

    /**
     * Deploys a push once; "a repeated delivery id creates nothing". One of the connected app is deployed organization by
     * organization: where it failed halfway, the rest follows when the code host sends it again.
     */
    async receive(push: Push, origin: PushOrigin): Promise<readonly Created[]> {
      const { id, delivery } = origin;
      const isNew = async (tx: Tx, name: string) =>
        delivery === undefined ||
        (await pushes(tx).insertOnce({ id: indexText(`${name} ${delivery}`), received_at: clock.iso() })) > 0;
      const deploy = (organization_id: string, name: string, ids: readonly string[]) =>
        store.transaction({ organization_id }, async (tx) => {
          const created: Created[] = [];
          if (!(await isNew(tx, name))) return created;
          for (const integration_id of ids) {
            const integration = await endpoints.codeHost(integration_id, tx);
            const order = integration && (await orderOf(integration, push, origin, tx));
            const deployment_id = order && (await deployments.push(tx, organization_id, order));
            if (deployment_id !== undefined) created.push({ integration_id, deployment_id });
          }
          return created;
        });
      if (id !== undefined) {
        const integration = await endpoints.codeHost(id);
        return integration ? deploy(integration.organization_id, id, [id]) : [];
      }
      if (delivery !== undefined && (await pushes().find({ id: indexText(`app ${delivery}`) }))) return [];
      const targets: Row<"endpoints">[] = [];
      for (const one of await endpoints.codeHosts()) if (await orderOf(one, push, origin)) targets.push(one);
      const created: Created[] = [];
      for (const organization_id of new Set(targets.map((one) => one.organization_id))) {
        const its = targets.filter((one) => one.organization_id === organization_id);
        created.push(
          ...(await deploy(
            organization_id,
            organization_id,
            its.map((one) => one.id),
          )),
        );
      }
      if (delivery !== undefined) await store.transaction("rows", (tx) => isNew(tx, "app"));
      return created;
    },

    async prune() {
      const before = isoOf(clock.now() - retention_ms);
      while ((await store.transaction("rows", (tx) => pushes(tx).prune({ before }))) > 0);
    },
  };
}
