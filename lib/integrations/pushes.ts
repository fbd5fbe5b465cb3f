import type { DeploymentsService } from "../deployments/service.ts";
import type { Endpoints } from "../endpoints/service.ts";
import { foldCase } from "../kernel/case-folding.ts";
import { type Clock, isoOf } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
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
}

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly endpoints: Endpoints;
  readonly deployments: Pick<DeploymentsService, "push">;
}

export type PushesService = ReturnType<typeof pushesService>;

/** Inbound pushes: each makes a deployment in every integration of that repository and branch. CONTRACT section 6. */
export function pushesService({ store, clock, endpoints, deployments }: Ports) {
  const pushes = store.using(pushesRepository);

  /** Deploys the repository and branch that the integration stores; those of the push are only compared. */
  const deploy = async (tx: Tx, integration: Row<"endpoints">, push: Push, signed: boolean) => {
    const { config, secrets } = endpoints.settingsOf(integration);
    const { repo, branch, environment, project_id } = config as Record<string, string>;
    if (integration.status !== "active" || (!signed && secrets.secret !== undefined)) return undefined;
    if (!repo || !branch || !environment || foldCase(repo) !== foldCase(push.repo)) return undefined;
    if ("branch" in push.to && push.to.branch !== branch) return undefined;
    const ref =
      "tag" in push.to
        ? { branch: null, tag: push.to.tag, commit: null }
        : { branch, tag: null, commit: push.to.commit };
    return deployments.push(tx, integration.organization_id, { project_id, repo, environment, ...ref });
  };

  return {
    /** The integration that an address names, with its secret if it has one; undefined where there is none. */
    async target(id: string) {
      const found = await endpoints.codeHost(id);
      return found && { secret: endpoints.settingsOf(found).secrets.secret };
    },

    /** Deploys a push once; "a repeated delivery id creates nothing". */
    async receive(push: Push, { id, delivery, signed }: PushOrigin) {
      const known = id === undefined ? undefined : await endpoints.codeHost(id);
      return store.transaction(async (tx) => {
        const created: { integration_id: string; deployment_id: string }[] = [];
        const name = indexText(`${id ?? "app"} ${delivery}`);
        if (delivery !== undefined && (await pushes(tx).insertOnce({ id: name, received_at: clock.iso() })) === 0)
          return created;
        const one = id === undefined ? undefined : await endpoints.codeHost(id, tx);
        const targets = id === undefined ? await endpoints.codeHosts(tx) : one ? [one] : [];
        for (const integration of targets) {
          const deployment_id = await deploy(tx, integration, push, signed);
          if (deployment_id !== undefined) created.push({ integration_id: integration.id, deployment_id });
        }
        return created;
      }, known && { organization_id: known.organization_id });
    },

    async prune() {
      const before = isoOf(clock.now() - retention_ms);
      while ((await store.transaction((tx) => pushes(tx).prune({ before }))) > 0);
    },
  };
}
