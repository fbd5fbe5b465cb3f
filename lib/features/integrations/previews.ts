import { isoOf } from "../../kernel/clock.ts";
import { type Outcome, snoozeUntil } from "../../kernel/job.ts";
import { maxVariables } from "../../kernel/limits.ts";
import { reasonOf } from "../../kernel/log.ts";
import { codeHostHook } from "../../kernel/maker.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { Endpoints } from "../deliveries/service.ts";
import type { DeploymentsService } from "../deployments/service.ts";
import type { EnvironmentsService } from "../environments/service.ts";
import type { CodeHostRights } from "../organizations/code-host-rights.ts";
import { previewsRepository } from "./repository.ts";

/** A pull or merge request, as a hook describes it. */
export interface PullRequest {
  readonly repo: string;
  readonly number: number;
  readonly action: "push" | "reopen" | "close";
  readonly url: string | null;
  /** The repository of the branch; null if the code host does not name it. */
  readonly source: string | null;
  readonly isFork: boolean;
  readonly branch: string;
  readonly commit: string;
  /** The time of the change at the code host; null if the hook has none. */
  readonly changed_at: string | null;
}

/** The effect of a hook on the preview of a pull or merge request. */
export interface PreviewResult {
  readonly integration_id: string;
  /** Null if nothing was deployed. */
  readonly deployment_id: string | null;
  readonly environment: string;
  /** Why nothing was deployed. */
  readonly message?: string;
}

/** For the audit log: a hook changed environments. Deployments need no entry, because they have records. */
export type RecordChange = (
  tx: Tx,
  change: {
    readonly organization_id: string;
    readonly action: "environments.put" | "environments.delete";
    readonly target: string;
  },
) => Promise<unknown>;

interface Ports extends Pick<Core, "store" | "clock" | "queue" | "log"> {
  readonly endpoints: Pick<Endpoints, "configOf" | "codeHost">;
  readonly deployments: Pick<DeploymentsService, "push" | "projectOf" | "cancelAll" | "deployedAt">;
  readonly environments: Pick<EnvironmentsService, "exists" | "copy" | "removeIn">;
  /** Option `previewLifetime`. */
  readonly lifetime_ms: number;
  /** Undefined without the option `codeHost.token` or without a code host. */
  readonly codeHost: { isOpen(repo: string, number: number): Promise<boolean | undefined> } | undefined;
  readonly rights: Pick<CodeHostRights, "serve">;
}

type PreviewRow = Row<"previews">;
type Key = Pick<PreviewRow, "organization_id" | "integration_id" | "number">;

/** How many previews one transaction ends, with their environments. */
const atOnce = 50;
/** How long ended previews are kept, so that a late hook does not start one again. */
const retention_ms = milliseconds("7d");

export type PreviewsService = ReturnType<typeof previewsService>;

/** Environments of pull and merge requests (fixtures/hosting/apps.md#previews). */
export function previewsService(ports: Ports) {
  const { store, clock, queue, endpoints, deployments, environments, lifetime_ms, log, codeHost, rights } = ports;
  const previews = store.using(previewsRepository);

  const put = async (tx: Tx, row: PreviewRow) => {
    await previews(tx).remove(row);
    await previews(tx).insert(row);
  };

  /** Ends an open preview: cancels its builds and removes its environment with app, data and hosts. */
  const end = async (tx: Tx, row: PreviewRow) => {
    await deployments.cancelAll(tx, row);
    // The preview ends even if its environment was removed before.
    if (!(await environments.removeIn(tx, row))) await previews(tx).end({ ...row, at: clock.iso() });
  };

  const endLater = (tx: Tx, { organization_id, integration_id, number }: Key, wait_ms = lifetime_ms) => {
    const key = `preview ${integration_id} ${number}`;
    return queue.addUnique(tx, "previews.end", { organization_id, integration_id, number }, key, wait_ms);
  };

  /** Ends the previews of closed pull requests whose hook was lost, or came while the service was down. */
  const endClosed = async () => {
    for (const { organization_id, integration_id, number, repo } of codeHost ? await previews().open({}) : []) {
      if (!(await rights.serve(organization_id, repo)) || (await codeHost?.isOpen(repo, number)) !== false) continue;
      await store.transaction({ organization_id }, async (tx) => {
        const row = await previews(tx).find({ organization_id, integration_id, number });
        if (row?.status !== "open") return;
        await end(tx, row);
        await put(tx, { ...row, status: "closed", updated_at: clock.iso() });
      });
    }
  };

  /** Whether a hook is out of date: code hosts repeat hooks, and send them out of order. */
  const isLate = (before: PreviewRow, { action, changed_at }: PullRequest) => {
    const isOver = before.status === "closed" && action === "push";
    if (changed_at === null || before.changed_at === null) return isOver;
    return changed_at < before.changed_at || (changed_at === before.changed_at && isOver);
  };

  const isUnchanged = (before: PreviewRow, { action, commit }: PullRequest, place: PreviewRow) =>
    (before.status === "open" || (before.status === "ended" && action === "push")) &&
    before.commit_id === commit &&
    before.project_id === place.project_id &&
    before.repo === place.repo;

  return {
    /** Updates the preview of a pull request for an integration; returns undefined if the hook changes nothing. */
    async receive(
      tx: Tx,
      integration: Row<"endpoints">,
      request: PullRequest,
      recordChange?: RecordChange,
    ): Promise<PreviewResult | undefined> {
      const { organization_id, id: integration_id } = integration;
      const config = endpoints.configOf(integration);
      const { repo, environment: template, project_id: given, root } = config as Record<string, string>;
      const { number, commit, action, isFork, branch, url, changed_at, source } = request;
      const before = await previews(tx).find({ organization_id, integration_id, number });
      if (before && isLate(before, request)) return undefined;
      const isOn = integration.status === "active" && config.previews === true;
      if (!repo || !template || (!isOn && !before)) return undefined;
      const project = await deployments.projectOf(tx, organization_id, { repo, project_id: given });
      const project_id = project?.id ?? before?.project_id;
      if (project_id === undefined) return undefined;

      const environment = `pr-${number}`;
      const preview = { integration_id, environment };
      const place = { organization_id, project_id, environment };
      const row: PreviewRow = {
        ...{ integration_id, number, ...place, repo, url, commit_id: commit, changed_at },
        ...{ source_repo: source ?? repo, source_branch: branch, fork: isFork ? 1 : 0 },
        ...{ status: "open", updated_at: clock.iso() },
      };
      const endAudited = async (ended: PreviewRow) => {
        await end(tx, ended);
        await recordChange?.(tx, { organization_id, action: "environments.delete", target: ended.project_id });
      };
      if (action === "close") {
        const isOpen = before?.status === "open";
        if (isOpen) await endAudited(before);
        await put(tx, { ...row, ...(before && { project_id: before.project_id }), status: "closed" });
        return isOpen
          ? { ...preview, deployment_id: null, message: "the preview has ended with its request" }
          : undefined;
      }
      if (!isOn || !project || source === null || (before && isUnchanged(before, request, row))) return undefined;

      const isOurs = before?.status === "open" && before.project_id === project_id && before.repo === row.repo;
      if (before?.status === "open" && !isOurs) await endAudited(before);
      if (!isOurs && (await environments.exists(tx, place))) {
        const message = `the project already has an environment ${environment}, made by a person or another integration; delete it, and push again`;
        return { ...preview, deployment_id: null, message };
      }
      if (!(await environments.copy(tx, place, template, { secrets: !isFork, root }))) {
        const message = `${environment} has over ${maxVariables} variables, or over 1 MiB of them, that ${template} does not have; remove some, and push again`;
        return { ...preview, deployment_id: null, message };
      }
      await recordChange?.(tx, { organization_id, action: "environments.put", target: project_id });
      await put(tx, row);
      await endLater(tx, row);
      if (isFork) {
        const message = `the request comes from a fork: it waits until a member deploys ${source}, branch ${branch}, to ${environment}`;
        return { ...preview, deployment_id: null, message };
      }
      const order = { project_id, repo, branch, tag: null, commit, environment };
      const { id = null } = await deployments.push(tx, organization_id, order, codeHostHook);
      return { ...preview, deployment_id: id };
    },

    /** The job `previews.end`: ends a preview a lifetime after its last deployment, or with its integration. */
    runEnd: async (key: Key): Promise<Outcome> =>
      snoozeUntil(async (tx) => {
        const row = await previews(tx).find(key);
        if (row?.status !== "open") return undefined;
        const isServed = (await endpoints.codeHost(key.integration_id, tx)) !== undefined;
        const deployed_at = (await deployments.deployedAt(tx, row)) ?? row.updated_at;
        const ends = Math.max(Date.parse(deployed_at), Date.parse(row.updated_at)) + lifetime_ms;
        if (isServed && ends > clock.now()) return ends;
        await end(tx, row);
        return undefined;
      }, key),

    /** Ends the previews of a deleted integration, because no hook will: the first ones now, the others in their jobs. */
    async integrationRemoved(
      tx: Tx,
      { organization_id, id: integration_id }: Pick<Row<"endpoints">, "organization_id" | "id">,
    ) {
      const rows = await previews(tx).openOfIntegration({ organization_id, integration_id });
      for (const row of rows.slice(0, atOnce)) await end(tx, row);
      for (const row of rows.slice(atOnce)) await endLater(tx, row, 0);
    },

    async prune() {
      const before = isoOf(clock.now() - retention_ms);
      while ((await store.transaction("rows", (tx) => previews(tx).prune({ before }))) > 0);
      await endClosed().catch((error) =>
        log.warn("the code host was not asked for requests", { reason: reasonOf(error) }),
      );
    },
  };
}
