import { discard, type Outcome, snooze, snoozeUntil } from "../../kernel/job.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import type { CodeHostRights } from "../organizations/code-host-rights.ts";
import { deploymentsRepository } from "./repository.ts";
import { sourceOf } from "./stored-releases.ts";

type Deployment = Row<"deployments">;

/** A commit in an environment. The code host shows only the status of its newest deployment. */
type Key = Pick<Deployment, "organization_id" | "project_id" | "environment"> & { readonly commit: string };
/** What the job keeps between tries: the state that it could not report, and the number of tries. */
export interface Tried {
  readonly state?: string | undefined;
  readonly tries?: number | undefined;
}

export interface CommitStatus {
  readonly repo: string;
  readonly commit: string;
  readonly state: "pending" | "success" | "failure";
  /** The name of the status. A later status with the same name replaces it. */
  readonly context: string;
  readonly description: string;
  readonly target_url: string;
}

/** The result of sending a status. A failed one may succeed later; a refused one never will. */
export type Taken = { readonly kind: "taken" } | { readonly kind: "failed" | "refused"; readonly reason: string };

interface Ports extends Pick<Core, "store" | "clock" | "log" | "queue"> {
  /** Undefined without the option `codeHost.token`, and where there is no code host. */
  readonly codeHost: { setStatus(status: CommitStatus): Promise<Taken> } | undefined;
  readonly rights: Pick<CodeHostRights, "serve">;
  /** Whether builds take a commit from a repository that the service hosts, and not from the code host. */
  readonly isOwn: (of: { readonly organization_id: string; readonly repo: string }, commit: string) => Promise<boolean>;
  readonly projectName: (tx: Tx | undefined, organization_id: string, id: string) => Promise<string | undefined>;
  /** The link of a status: to the app of the deployment, else to its page. */
  readonly urlOf: (deployment: Deployment) => Promise<string>;
}

/** The waits after the first, second, … failed try to report a status. After the last wait comes the last try. */
const waits_ms = ["1m", "5m", "15m", "30m", "30m", "1h", "2h", "6h", "12h"].map((wait) => milliseconds(wait));

const states: Readonly<Record<Deployment["status"], readonly [CommitStatus["state"], string]>> = {
  queued: ["pending", "is on its way"],
  building: ["pending", "is on its way"],
  deploying: ["pending", "is on its way"],
  active: ["success", "succeeded"],
  failed: ["failure", "failed"],
  rolled_back: ["failure", "was rolled back"],
  cancelled: ["failure", "was cancelled"],
};

/** The commit of a deployment; undefined until it is known, and for an image. */
const commitOf = (row: Deployment): string | undefined => {
  const commit = row.revision ?? row.pin ?? row.version;
  return sourceOf(row).type === "git" && commit !== null && /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(commit)
    ? commit
    : undefined;
};

export type CommitStatuses = ReturnType<typeof createCommitStatuses>;

/**
 * Reports the status of deployments to the code host (fixtures/hosting/apps.md#commit-statuses). A commit in an
 * environment has one job. It reads the newest state when it runs, so an older state never follows a newer one.
 */
export function createCommitStatuses(ports: Ports) {
  const { store, clock, log, queue, codeHost, rights, isOwn, projectName, urlOf } = ports;
  const deployments = store.using(deploymentsRepository);

  const read = async (key: Key, tx?: Tx) => {
    const row = await deployments(tx).newestOf(key);
    return row && { row, state: `${row.id} ${states[row.status][0]}` };
  };

  /** Ends the job, or runs it again at once if there is a newer state. */
  const endsAfter = (told: string, key: Key) =>
    snoozeUntil(async (tx) => (((await read(key, tx))?.state ?? told) === told ? undefined : clock.now()), {
      organization_id: key.organization_id,
    });

  const changed = async (tx: Tx, row: Deployment, before?: Deployment): Promise<void> => {
    const commit = commitOf(row);
    const isShown = before && commitOf(before) === commit && states[before.status][0] === states[row.status][0];
    if (commit === undefined || isShown) return;
    const { organization_id, project_id, environment } = row;
    const key: Key = { organization_id, project_id, environment, commit };
    await queue.addUnique(tx, "deployments.tell", key, `tell ${project_id} ${environment} ${commit}`);
  };

  return {
    /** Called at each new state, and when the commit is known. Undefined without a code host to report to. */
    changed: codeHost && changed,

    /** The job `deployments.tell`: one try to report a status. */
    async tell({ state: failed, tries: before = 0, ...key }: Key & Tried): Promise<Outcome> {
      const now = await read(key);
      if (!codeHost || !now) return discard(codeHost ? "the deployment was removed" : "there is no code host");
      const { row, state } = now;
      const { organization_id, project_id, environment, commit } = key;
      const repo = sourceOf(row).repo ?? "";
      if (!(await rights.serve(organization_id, repo)) || (await isOwn({ organization_id, repo }, commit)))
        return discard("the token does not serve this commit");
      const project = (await projectName(undefined, organization_id, project_id)) ?? project_id;
      const [sent, words] = states[row.status];
      const answer = await codeHost.setStatus({
        ...{ repo, commit, state: sent, context: `svc-server/${project}/${environment}` },
        ...{ description: `The deployment to ${environment} ${words}`, target_url: await urlOf(row) },
      });
      if (answer.kind === "taken") return endsAfter(state, key);
      // The tries of a newer state count from one.
      const tries = failed === state ? before + 1 : 1;
      const wait_ms = answer.kind === "refused" ? undefined : waits_ms[tries - 1];
      const about = { deployment: row.id, reason: answer.reason, tries_again: wait_ms !== undefined };
      log.warn("the code host did not take a commit status", about);
      return wait_ms === undefined
        ? endsAfter(state, key)
        : snooze(wait_ms, async () => {}, "rows", { ...key, state, tries });
    },
  };
}
