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

/** The deployment of a push, or why there is none. */
export type Pushed =
  | { readonly id: string; readonly why?: undefined }
  | { readonly id?: undefined; readonly why: string };

export function createPushes({ store, projects, environments, enqueue }: Ports) {
  const deployments = store.using(deploymentsRepository);

  const targetOf = async (
    tx: Tx,
    organization_id: string,
    { repo, project_id }: Pick<PushOrder, "repo" | "project_id">,
  ) => {
    const last = () => deployments(tx).lastOfRepo({ organization_id, repo: foldCase(repo) });
    return projects.forPush(tx, organization_id, project_id ?? (await last())?.project_id);
  };

  return {
    /** The project that a push deploys into; undefined if none accepts it. */
    async projectOf(tx: Tx, organization_id: string, push: Pick<PushOrder, "repo" | "project_id">) {
      const project = await targetOf(tx, organization_id, push);
      return project?.status === "active" ? project : undefined;
    },

    /** Deploys a push, if a project accepts it and it changes something in the folder to build. */
    async push(tx: Tx, organization_id: string, push: PushOrder, by: Maker): Promise<Pushed> {
      const { repo, branch, tag, commit: revision, environment } = push;
      const project = await targetOf(tx, organization_id, push);
      if (!project) return { why: "the project is unknown; set project_id" };
      if (project.status !== "active") return { why: `the project ${project.name} is archived; unarchive it first` };
      const of = { organization_id, project_id: project.id, environment };
      const root = push.root ?? (await environments.rootOf(tx, of));
      if (changesNothingBelow(root, push.paths))
        return { why: `nothing changed below ${root}, the root for ${environment} of ${project.name}` };
      const source: Source = { type: "git", repo, branch, tag, image_url: null };
      return { id: (await enqueue(tx, { ...of, source, revision, root, by })).id };
    },
  };
}
