import type { App } from "../../drivers/deployment/contract.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import type { Row } from "../../store/tables.ts";
import { deploymentsRepository } from "./repository.ts";
import type { Source } from "./source.ts";

type Deployment = Row<"deployments">;
type EnvironmentKey = Pick<Deployment, "project_id" | "environment">;

/** The variables of an environment, secrets included, and the values of the secret ones. */
export type ReadVariables = (of: {
  project_id: string;
  name: string;
}) => Promise<{ readonly variables: Readonly<Record<string, string>>; readonly secrets: readonly string[] }>;

/** Reads the parts of a driver's order that are not in the deployment's row. */
export interface ReadOrder {
  readonly variables: ReadVariables;
  /** Whether the operator's credential of the code host may fetch a repository for an organization. */
  readonly mayFetch: (organization_id: string, repo: string) => Promise<boolean>;
  readonly visitedAt: (of: EnvironmentKey) => Promise<string | null>;
}

export const sourceOf = ({ source }: Pick<Deployment, "source">): Source => JSON.parse(source) as Source;

/** The version of a deployment. During its build: the tag or the commit, once the commit is known. */
export const versionOf = (row: Deployment): string | null => {
  const commit = row.revision ?? row.pin;
  return row.version ?? (commit === null ? null : (sourceOf(row).tag ?? commit));
};

/** The order for a driver: a deployment with the current variables of its environment. */
export async function orderOf(row: Deployment, { variables, mayFetch, visitedAt }: ReadOrder) {
  const { id: deployment_id, organization_id, project_id, environment, version, revision, pin, release, root } = row;
  const of = { deployment_id, organization_id, project_id, environment };
  const source = sourceOf(row);
  const usesCredential = source.repo !== null && (await mayFetch(organization_id, source.repo));
  const order = { ...of, version, revision, pin, release, root, source, usesCredential };
  return { ...order, url: await visitedAt(of), ...(await variables({ project_id, name: environment })) };
}

export type StoredReleases = ReturnType<typeof createStoredReleases>;

/** The releases that deployments stored, for a runtime. */
export function createStoredReleases({ store, ...read }: ReadOrder & { store: Store }) {
  const deployments = store.using(deploymentsRepository);
  return {
    mayFetch: read.mayFetch,

    /** The app of a deployment, for a runtime to start; undefined if it has no release. */
    async app(id: string): Promise<App | undefined> {
      const row = await deployments().byId({ id });
      if (!row) return undefined;
      const { release, ...order } = await orderOf(row, read);
      return release === null ? undefined : { ...order, release };
    },

    /** The releases of an environment's deployments that became active, newest first. */
    async releases({ project_id, environment }: EnvironmentKey, tx?: Tx): Promise<readonly string[]> {
      const rows = await deployments(tx).releases({ project_id, environment });
      return [...new Set(rows.flatMap(({ release }) => release ?? []))];
    },

    /** The environment of the deployment that built a release; `isRunning` while it rolls out. */
    async ofRelease(release: string): Promise<(EnvironmentKey & { readonly isRunning: boolean }) | undefined> {
      const row = await deployments().byId({ id: release });
      return row && { ...row, isRunning: row.status === "deploying" };
    },

    runningIn: async (tx: Tx, { project_id, environment }: EnvironmentKey): Promise<string | undefined> =>
      (await deployments(tx).runningIn({ project_id, environment }))?.id,
  };
}
