import { isoOf } from "../../kernel/clock.ts";
import { codeHostHook, type Maker } from "../../kernel/maker.ts";
import type { Caller } from "../../kernel/operation.ts";
import { foldCase } from "../../kernel/text/case-folding.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import { indexText } from "../../store/index-text.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { Endpoints } from "../deliveries/service.ts";
import type { Pushed } from "../deployments/pushes.ts";
import type { DeploymentsService } from "../deployments/service.ts";
import type { CodeHostRights } from "../organizations/code-host-rights.ts";
import type { PreviewResult, PreviewsService, PullRequest, RecordChange } from "./previews.ts";
import { pushesRepository } from "./repository.ts";

/** How long delivery ids are kept: a code host may send the same push again. */
const retention_ms = milliseconds("7d");

/** A push to a repository, of this service or of any of the three code hosts. */
export interface Push {
  readonly repo: string;
  readonly to: { readonly branch: string; readonly commit: string } | { readonly tag: string };
  /** The changed files; undefined if not all of them are known. */
  readonly paths?: readonly string[] | undefined;
}

export interface PushOrigin {
  /** The integration that the hook was posted to; undefined for the connected app. */
  readonly id: string | undefined;
  readonly delivery: string | undefined;
  /** "An integration with a secret of its own is never served unsigned." */
  readonly signed: boolean;
  /** Signed by the connected app, which serves the organizations that the operator names. */
  readonly byApp: boolean;
  readonly recordChange: RecordChange;
}

type Hook = Push | PullRequest;
type Integration = Row<"endpoints">;

type OwnPush = Pick<Push, "repo" | "paths"> & { readonly branch: string; readonly commit: string };
type Deployed = Parameters<DeploymentsService["push"]>[2] & { readonly project_id: string };

/** A push to a repository of this service: its pusher may deploy. */
const ofPusher = { signed: true, byApp: false };

interface Ports extends Pick<Core, "store" | "clock"> {
  readonly endpoints: Endpoints;
  readonly deployments: Pick<DeploymentsService, "push">;
  readonly rights: Pick<CodeHostRights, "serve">;
  readonly previews: Pick<PreviewsService, "receive">;
}

/** The deployment that a push created through an integration. */
export interface Created {
  readonly integration_id: string;
  readonly deployment_id: string;
}

export type PushesService = ReturnType<typeof pushesService>;

/** A push deploys through every integration of its repository and branch; a pull request gets its preview. */
export function pushesService({ store, clock, endpoints, deployments, rights, previews }: Ports) {
  const pushes = store.using(pushesRepository);

  /** Whether a hook may use an integration: checks its repository, its secret and the rights of the app. */
  const isReached = async (
    integration: Integration,
    of: string,
    { signed, byApp }: Pick<PushOrigin, "signed" | "byApp">,
    tx?: Tx,
  ) => {
    const { repo } = endpoints.configOf(integration) as Record<string, string>;
    if (!repo || foldCase(repo) !== foldCase(of)) return false;
    if (!signed && endpoints.settingsOf(integration).secrets.secret !== undefined) return false;
    return !byApp || rights.serve(integration.organization_id, repo, tx);
  };

  /** The order of an integration for a push: repository and branch come from its configuration, not from the push. */
  const orderOf = (integration: Integration, push: Push) => {
    const { repo, branch, environment, project_id, root } = endpoints.configOf(integration) as Record<string, string>;
    if (!repo || !branch || !environment) return undefined;
    if ("branch" in push.to && push.to.branch !== branch) return undefined;
    const ref =
      "tag" in push.to
        ? { branch: null, tag: push.to.tag, commit: null }
        : { branch, tag: null, commit: push.to.commit };
    return { project_id, repo, environment, root, paths: push.paths, ...ref };
  };

  /** The deployment of a push by an integration, or why there is none; undefined if it does not name the branch. */
  const deploy = async (tx: Tx, integration: Integration, push: Push, by: Maker): Promise<Pushed | undefined> => {
    const order = orderOf(integration, push);
    if (order && integration.status !== "active") return { why: "the integration is inactive" };
    return order && deployments.push(tx, integration.organization_id, order, by);
  };

  const serve = async (
    tx: Tx,
    integration_id: string,
    hook: Hook,
    origin: PushOrigin,
  ): Promise<PreviewResult | Created | undefined> => {
    const integration = await endpoints.codeHost(integration_id, tx);
    if (!integration || !(await isReached(integration, hook.repo, origin, tx))) return undefined;
    if (!("to" in hook)) return previews.receive(tx, integration, hook, origin.recordChange);
    const deployment_id = (await deploy(tx, integration, hook, codeHostHook))?.id;
    return deployment_id === undefined ? undefined : { integration_id, deployment_id };
  };

  return {
    /** Finds the integration that a hook is posted to, with its secret, if any; undefined if there is none. */
    async target(id: string) {
      const integration = await endpoints.codeHost(id);
      if (!integration) return undefined;
      return { organization_id: integration.organization_id, secret: endpoints.settingsOf(integration).secrets.secret };
    },

    /**
     * Applies a hook once; "a repeated delivery id creates nothing". A hook of the connected app is applied to one
     * organization after another: if it fails halfway, the code host's next attempt covers the rest.
     */
    async receive(hook: Hook, origin: PushOrigin): Promise<readonly (PreviewResult | Created)[]> {
      const { id, delivery } = origin;
      const isNew = async (tx: Tx, name: string) =>
        delivery === undefined ||
        (await pushes(tx).insertOnce({ id: indexText(`${name} ${delivery}`), received_at: clock.iso() })) > 0;
      const serveOnce = (organization_id: string, name: string, ids: readonly string[]) =>
        store.transaction({ organization_id }, async (tx) => {
          const served: (PreviewResult | Created)[] = [];
          if (!(await isNew(tx, name))) return served;
          for (const one of ids) {
            const result = await serve(tx, one, hook, origin);
            if (result) served.push(result);
          }
          return served;
        });
      if (id !== undefined) {
        const integration = await endpoints.codeHost(id);
        return integration ? serveOnce(integration.organization_id, id, [id]) : [];
      }
      if (delivery !== undefined && (await pushes().find({ id: indexText(`app ${delivery}`) }))) return [];
      const targets: Integration[] = [];
      for (const one of await endpoints.codeHosts()) if (await isReached(one, hook.repo, origin)) targets.push(one);
      const served: (PreviewResult | Created)[] = [];
      for (const organization_id of new Set(targets.map((one) => one.organization_id))) {
        const its = targets.filter((one) => one.organization_id === organization_id);
        const ids = its.map((one) => one.id);
        served.push(...(await serveOnce(organization_id, organization_id, ids)));
      }
      if (delivery !== undefined) await store.transaction("rows", (tx) => isNew(tx, "app"));
      return served;
    },

    /** The integrations that deploy a repository of this service, by branch. A push may have thousands of branches. */
    async ofOwn(caller: Caller, repo: string): Promise<ReadonlyMap<string, readonly string[]>> {
      const byBranch = new Map<string, string[]>();
      for (const one of await endpoints.codeHostsOf(caller)) {
        const { repo: its, branch } = endpoints.configOf(one) as Record<string, string>;
        if (!its || !branch || foldCase(its) !== foldCase(repo)) continue;
        byBranch.set(branch, [...(byBranch.get(branch) ?? []), one.id]);
      }
      return byBranch;
    },

    /** Deploys a push by the integrations that name its branch, and returns what each of them did. */
    receiveOwn: (caller: Caller, { repo, branch, commit, paths }: OwnPush, integrations: readonly string[]) =>
      store.transaction(caller, async (tx) => {
        const push: Push = { repo, to: { branch, commit }, paths };
        const served: (Pushed & { readonly integration: string })[] = [];
        for (const id of integrations) {
          const integration = await endpoints.codeHost(id, tx);
          if (!integration || !(await isReached(integration, repo, ofPusher, tx))) continue;
          const pushed = await deploy(tx, integration, push, caller);
          if (pushed) served.push({ integration: integration.name, ...pushed });
        }
        return served;
      }),

    deployOwn: (caller: Caller, order: Deployed) =>
      store.transaction(caller, (tx) => deployments.push(tx, caller.organization_id, order, caller)),

    async prune() {
      const before = isoOf(clock.now() - retention_ms);
      while ((await store.transaction("rows", (tx) => pushes(tx).prune({ before }))) > 0);
    },
  };
}
