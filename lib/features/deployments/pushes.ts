import type { Maker } from "../../kernel/maker.ts";
import { foldCase } from "../../kernel/text/case-folding.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Store } from "../../store/store.ts";
import type { EnvironmentsService } from "../environments/service.ts";
import type { ProjectsService } from "../projects/service.ts";
import { deploymentsRepository } from "./repository.ts";
import { changesNothingBelow, type DeploymentOrder, type PushOrder, type Source } from "./source.ts";

interface Ports {
  readonly store: Store;
  readonly projects: ProjectsService;
  readonly environments: EnvironmentsService;
  readonly enqueue: (tx: Tx, order: DeploymentOrder) => Promise<{ readonly id: string }>;
}

export function createPushes({ store, projects, environments, enqueue }: Ports) {
  const deployments = store.using(deploymentsRepository);

  /** The project that a push deploys into; undefined if none accepts it. */
  const projectOf = async (
    tx: Tx,
    organization_id: string,
    { repo, project_id }: Pick<PushOrder, "repo" | "project_id">,
  ) => {
    const last = () => deployments(tx).lastOfRepo({ organization_id, repo: foldCase(repo) });
    return projects.forPush(tx, organization_id, project_id ?? (await last())?.project_id);
  };

  return {
    projectOf,

    /** Deploys a push; undefined if no project accepts it, or if the push changes nothing in the folder to build. */
    async push(tx: Tx, organization_id: string, push: PushOrder, by: Maker): Promise<string | undefined> {
      const { repo, branch, tag, commit: revision, environment } = push;
      const project = await projectOf(tx, organization_id, push);
      if (!project) return undefined;
      const of = { organization_id, project_id: project.id, environment };
      const root = push.root ?? (await environments.rootOf(tx, of));
      if (changesNothingBelow(root, push.paths)) return undefined;
      const source: Source = { type: "git", repo, branch, tag, image_url: null };
      return (await enqueue(tx, { ...of, source, revision, root, by })).id;
    },
  };
}
