import * as v from "valibot";
import type { DeploymentsService } from "../../features/deployments/service.ts";
import type { LiveApps } from "../../features/environments/live-apps.ts";
import { environmentName } from "../../features/environments/schema.ts";
import type { PushesService } from "../../features/integrations/pushes.ts";
import { newProject } from "../../features/projects/schema.ts";
import type { ProjectsService } from "../../features/projects/service.ts";
import type { RepositoryName } from "../../features/repositories/service.ts";
import type { Clock } from "../../kernel/clock.ts";
import { Problem } from "../../kernel/errors.ts";
import { maxBranches } from "../../kernel/limits.ts";
import { type Log, reasonOf } from "../../kernel/log.ts";
import type { Caller } from "../../kernel/operation.ts";
import { check } from "../../kernel/validation.ts";
import type { PushRequest } from "../repositories/push-request.ts";
import type { BranchChange } from "../repositories/pushed-branches.ts";
import type { Repositories } from "../repositories/repositories.ts";

interface Ports {
  readonly apps: Pick<LiveApps, "isLive">;
  readonly deployments: DeploymentsService;
  readonly projects: ProjectsService;
  readonly pushes: PushesService;
  /** The caller that creates a project, for the audit log. Throws if the key may not. */
  readonly creator: (caller: Caller) => Caller;
  readonly record: (repo: string, changes: readonly BranchChange[]) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

interface Branch {
  readonly repo: string;
  readonly branch: string;
  readonly commit: string;
  /** The files that the push changes; undefined if unknown, or if they do not matter. */
  readonly paths: readonly string[] | undefined;
}

interface Begun {
  readonly id: string;
  readonly what: string;
}

const defaultEnvironment = "production";
const target = v.object({ environment: environmentName });
const ends: Readonly<Record<string, string>> = {
  failed: "The push is stored, but the deployment failed",
  rolled_back: "The push is stored, but the deployment was rolled back: the previous release stays live",
  cancelled: "The push is stored, but the deployment was cancelled",
};

/** A repository `owner/repo` belongs to the project named `repo`. */
const nameIn = (repo: string) => repo.split("/")[1] ?? repo;

const inWords = (repo: string) => `owner=${repo.split("/")[0]} name=${nameIn(repo)}`;

const afterTags = (repo: string, [tag = "", ...others]: readonly string[]) =>
  `${others.length === 0 ? `The tag ${tag} is` : `The tags ${tag} and ${others.length} more are`} stored, but not deployed: svc-server call deployments.create project_id=proj_… environment=${defaultEnvironment} source.type=git source.repo=${repo} source.tag=${tag}`;

/** The rules that were broken, if the problem has any, else its message. */
const sentence = ({ message, details }: Problem) =>
  details?.map((one) => `${one.path} ${one.message}`).join("; ") || message;

/** Deploys a push to a repository of this service. Yields lines that report the progress to the pusher. */
export function createDeploymentsOfPush({ apps, deployments, projects, pushes, creator, record, clock, log }: Ports) {
  /** Finds a project by name or id. Creates a missing one if the key may. */
  const projectOf = async (caller: Caller, name: string): Promise<{ id: string; name: string; isNew: boolean }> => {
    const project = await projects.named(caller, name);
    if (project) return { ...project, isNew: false };
    let by: Caller;
    try {
      by = creator(caller);
    } catch (error) {
      throw error instanceof Problem
        ? new Problem(error.code, `there is no project ${name}, and this key cannot create it: ${error.message}`)
        : error;
    }
    try {
      const created = await projects.create(by, check(newProject, { name, region: "local" }));
      return { ...created, isNew: true };
    } catch (error) {
      // A concurrent push created it first.
      const other = error instanceof Problem && error.code === "name_taken" && (await projects.named(caller, name));
      if (other) return { ...other, isNew: false };
      throw error;
    }
  };

  async function* deploy(
    caller: Caller,
    { repo, branch, commit, paths }: Branch,
    project: string,
    given: string,
  ): AsyncGenerator<string, Begun[]> {
    const { environment } = check(target, { environment: given });
    const { id: project_id, name, isNew } = await projectOf(caller, project);
    if (isNew) yield `Made the project ${name}, in the region local`;
    const order = { project_id, repo, branch, tag: null, commit, environment, paths };
    const { id, why } = await pushes.deployOwn(caller, order);
    if (id !== undefined) return [{ id, what: `${commit.slice(0, 12)} to ${environment} of ${name}` }];
    yield `The push is stored, but not deployed: ${why}`;
    return [];
  }

  /**
   * Integrations that name the branch decide. Without them, the default branch deploys to the project with the name of
   * the repository.
   */
  async function* deployAsNamed(
    caller: Caller,
    pushed: Branch,
    isDefault: boolean,
    integrations: readonly string[] = [],
  ): AsyncGenerator<string, Begun[]> {
    const served = integrations.length > 0 ? await pushes.receiveOwn(caller, pushed, integrations) : [];
    const what = `${pushed.commit.slice(0, 12)}, by the rules of an integration`;
    for (const { integration, why } of served)
      if (why) yield `The push is stored, but the integration ${integration} does not deploy it: ${why}`;
    if (served.length > 0) return served.flatMap(({ id }) => (id === undefined ? [] : { id, what }));
    if (isDefault) return yield* deploy(caller, pushed, nameIn(pushed.repo), defaultEnvironment);
    yield `The branch ${pushed.branch} deploys nothing: it is not the default branch, and no integration names it. Push with -o environment=NAME to deploy it, or make it the default: svc-server call repositories.update ${inWords(pushed.repo)} default_branch=${pushed.branch}`;
    return [];
  }

  async function* follow(caller: Caller, { id, what }: Begun, signal: AbortSignal): AsyncGenerator<string, void> {
    yield `Deployment ${id}: ${what}`;
    const all = { follow: true, per_page: 100, page: 1 } as const;
    const log = await deployments.logs(caller, id, all, { resume: undefined, signal: () => signal });
    if ("entries" in log)
      for await (const { record } of log.entries) yield (record as { message?: string }).message ?? "";
    const { status, url, ...where } = (await deployments.get(caller, id, { signal: () => signal })) as {
      status: string;
      url?: string | null;
      project_id: string;
      environment: string;
    };
    if (status === "active") yield url ? `Live at ${url}` : "The deployment is active";
    else if (status === "failed") {
      const { project_id, environment } = where;
      const isLive = await apps.isLive({ project_id, environment });
      yield `${ends[status]}${isLive ? ": the previous release stays live" : ""}`;
    } else yield ends[status] ?? `The deployment continues: svc-server deployments logs ${id} --follow`;
  }

  /** Reports the failure of a branch as a line, so that the other branches go on. */
  async function* explained<T>(repo: string, work: AsyncGenerator<string, T>): AsyncGenerator<string, T | undefined> {
    try {
      return yield* work;
    } catch (error) {
      if (error instanceof Problem) yield `The push is stored, but not deployed: ${sentence(error)}`;
      else {
        log.error("the deployments of a push failed", { repo, reason: reasonOf(error) });
        yield "The push is stored. The service failed while it deployed it";
      }
      return undefined;
    }
  }

  /** Creates all deployments before it shows a log: none is lost if the pusher leaves or the service stops. */
  async function* deployAll(
    repositories: Repositories,
    { repo, organization_id }: RepositoryName,
    { updates, options, isShallow }: PushRequest,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    if (updates.length === 0) return;
    const { branches, tags, changes, defaultBranch } = await repositories.pushed(
      { repo, organization_id },
      updates,
      clock.iso(),
    );
    await record(repo, changes);
    const isRefused = updates.filter(({ commit }) => commit !== undefined).length > branches.length + tags.length;
    if (isShallow && isRefused)
      yield "This clone is shallow: it lacks older commits, and so would the repository here. Get them, and push again: git fetch --unshallow";
    if (changes.length === 0 && tags.length > 0) yield afterTags(repo, tags);
    const { project = nameIn(repo), environment = defaultEnvironment } = Object.fromEntries(options);
    const isNamed = options.has("project") || options.has("environment");
    const integrations = isNamed ? new Map<string, readonly string[]>() : await pushes.ofOwn(caller, repo);
    const begun: Begun[] = [];
    let deployed = 0;
    for (const [i, one] of branches.entries()) {
      if (deployed === maxBranches) {
        yield `The push is stored, but its other branches (${branches.length - i}) are not deployed: a push deploys at most ${maxBranches} branches`;
        break;
      }
      const pushed = { repo, ...one };
      const work = isNamed
        ? deploy(caller, { ...pushed, paths: undefined }, project, environment)
        : deployAsNamed(caller, pushed, one.branch === defaultBranch, integrations.get(one.branch));
      const ofBranch = (yield* explained(repo, work)) ?? [];
      if (isNamed || ofBranch.length > 0) deployed += 1;
      begun.push(...ofBranch);
    }
    for (const one of begun) yield* follow(caller, one, signal);
  }

  return (
    repositories: Repositories,
    name: RepositoryName,
    request: PushRequest,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> => explained(name.repo, deployAll(repositories, name, request, caller, signal));
}
