import * as v from "valibot";
import type { DeploymentsService } from "../deployments/service.ts";
import type { PushRequest } from "../drivers/repositories/push-request.ts";
import type { Repositories, RepositoryName } from "../drivers/repositories/repositories.ts";
import { environmentName } from "../environments/schema.ts";
import type { PushesService } from "../integrations/pushes.ts";
import { Problem } from "../kernel/errors.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { Caller } from "../kernel/operation.ts";
import { check } from "../kernel/validation.ts";
import { newProject } from "../projects/schema.ts";
import type { ProjectsService } from "../projects/service.ts";

interface Ports {
  readonly deployments: DeploymentsService;
  readonly projects: ProjectsService;
  readonly pushes: PushesService;
  /** The caller who creates a project, for the audit log. Throws where the key may not. */
  readonly creator: (caller: Caller) => Caller;
  readonly log: Log;
}

/** A branch that was pushed. */
interface Branch {
  readonly repo: string;
  readonly branch: string;
  readonly commit: string;
}

const defaultEnvironment = "production";
const target = v.object({ environment: environmentName });
const ends: Readonly<Record<string, string>> = {
  failed: "The push is stored, and the deployment failed: what ran before runs on",
  rolled_back: "The push is stored, and the deployment was rolled back: the release before it stays live",
  cancelled: "The push is stored, and the deployment was cancelled",
};

/** A broken rule says which one. */
const sentence = ({ message, details }: Problem) =>
  details?.map((one) => `${one.path} ${one.message}`).join("; ") || message;

/** Deploys what was pushed to a repository of this service, and tells the pusher how that goes, a line at a time. */
export function createDeploymentsOfPush({ deployments, projects, pushes, creator, log }: Ports) {
  /** The project of a name or id. One that does not exist is made, where the key may. */
  const projectOf = async (caller: Caller, name: string): Promise<{ id: string; name: string; isNew: boolean }> => {
    const found = await projects.named(caller, name);
    if (found) return { ...found, isNew: false };
    let by: Caller;
    try {
      by = creator(caller);
    } catch (error) {
      throw error instanceof Problem
        ? new Problem(error.code, `there is no project ${name}, and this key cannot create it: ${error.message}`)
        : error;
    }
    try {
      const made = await projects.create(by, check(newProject, { name, region: "local" }));
      return { ...made, isNew: true };
    } catch (error) {
      // Another push was faster.
      const other = error instanceof Problem && error.code === "name_taken" && (await projects.named(caller, name));
      if (other) return { ...other, isNew: false };
      throw error;
    }
  };

  async function* deploy(
    caller: Caller,
    { repo, branch, commit }: Branch,
    project: string,
    given: string,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    const { environment } = check(target, { environment: given });
    const { id, name, isNew } = await projectOf(caller, project);
    if (isNew) yield `Made the project ${name}, in the region local`;
    const order = { project_id: id, repo, branch, tag: null, commit, environment };
    const made = await pushes.deployOwn(caller, order);
    if (made === undefined)
      yield `The push is stored, and not deployed: the project ${name} is archived; unarchive it first`;
    else yield* follow(caller, made, `${commit.slice(0, 12)} to ${environment} of ${name}`, signal);
  }

  async function* follow(caller: Caller, id: string, what: string, signal: AbortSignal): AsyncGenerator<string, void> {
    yield `Deployment ${id}: ${what}`;
    const all = { follow: true, per_page: 100, page: 1 } as const;
    const log = await deployments.logs(caller, id, all, { resume: undefined, signal: () => signal });
    if ("entries" in log)
      for await (const { record } of log.entries) yield (record as { message?: string }).message ?? "";
    const { status, url } = (await deployments.get(caller, id, { signal: () => signal })) as {
      status: string;
      url?: string | null;
    };
    if (status === "active") yield url ? `Live at ${url}` : "The deployment is active";
    else yield ends[status] ?? `The deployment goes on: svc-server deployments logs ${id} --follow`;
  }

  /** Integrations that name the branch decide; without one, the default branch goes to the project of the same name. */
  async function* branchOf(
    caller: Caller,
    pushed: Branch,
    isDefault: boolean,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    const made = await pushes.receiveOwn(caller, pushed);
    for (const { deployment_id } of made)
      yield* follow(caller, deployment_id, `${pushed.commit.slice(0, 12)}, as an integration says`, signal);
    if (made.length > 0) return;
    if (isDefault) yield* deploy(caller, pushed, pushed.repo.split("/")[1] ?? pushed.repo, defaultEnvironment, signal);
    else
      yield `The branch ${pushed.branch} deploys nothing: it is not the default branch, and no integration names it. Push with -o environment=NAME to deploy it`;
  }

  return async function* (
    repositories: Repositories,
    name: RepositoryName,
    { updates, options }: PushRequest,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    try {
      const wanted = new Map(
        updates.flatMap(({ ref, commit }) => (commit === undefined ? [] : [[ref, commit] as const])),
      );
      if (wanted.size === 0) return;
      const { branches, defaultBranch } = await repositories.pushed(name, wanted);
      const [project, environment] = [options.get("project"), options.get("environment")];
      for (const one of branches) {
        const pushed = { repo: name.repo, ...one };
        if (project !== undefined || environment !== undefined)
          yield* deploy(
            caller,
            pushed,
            project ?? name.repo.split("/")[1] ?? name.repo,
            environment ?? defaultEnvironment,
            signal,
          );
        else yield* branchOf(caller, pushed, one.branch === defaultBranch, signal);
      }
    } catch (error) {
      if (error instanceof Problem) yield `The push is stored, and not deployed: ${sentence(error)}`;
      else {
        log.error("the deployments of a push failed", { repo: name.repo, reason: reasonOf(error) });
        yield "The push is stored. The service failed while it deployed it";
      }
    }
  };
}
