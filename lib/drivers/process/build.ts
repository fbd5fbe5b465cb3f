import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { byteSizeText } from "../../kernel/byte-size.ts";
import { hideValues } from "../../kernel/secret-values.ts";
import type { Order, Run } from "../deployment/background-steps.ts";
import { readWithin } from "./app-settings.ts";
import { type LimitedRun, withinLimits } from "./build-limits.ts";
import { type Build, type BuildLimits, diskReason, printed, runStep, watchLimits } from "./build-steps.ts";
import { detect, type Plan } from "./detect.ts";
import { folderBytes, writtenTo } from "./disk.ts";
import { Declined, Failure, Lacking } from "./failure.ts";
import type { Git } from "./git.ts";
import type { Machine } from "./probe.ts";
import type { ProjectCaches } from "./project-caches.ts";
import type { Releases, StoredRelease } from "./releases.ts";
import type { Box } from "./sandbox.ts";
import { fallbackOf, keepFolder, served } from "./static-folder.ts";

/** The tools of a build. */
export interface BuildPorts {
  readonly git: Git;
  readonly releases: Releases;
  readonly machine: Machine;
  readonly folder: string;
  readonly caches: ProjectCaches;
  readonly limits: BuildLimits & { readonly timeout_ms: number };
  readonly leavesDockerfiles: boolean;
}

/** The variables of a build or a release. The environment's own win. */
export function variablesOf({ deployment_id, environment, version, variables }: Order): Record<string, string> {
  const { PORT: _, ...own } = variables;
  return {
    SVC_DEPLOYMENT: deployment_id,
    SVC_ENVIRONMENT: environment,
    ...(version !== null && { SVC_VERSION: version }),
    ...own,
  };
}

/** Builds a release of a commit: fetches it, finds out what it is, installs and builds it in a sandbox. */
export const build = (order: Order, run: Run, ports: BuildPorts): Promise<{ release: StoredRelease }> =>
  withinLimits(run, ports, async (limited) => {
    const { releases } = ports;
    await releases.create(order.deployment_id);
    const commit = await fetchSource(order, limited, ports);
    const release = await make(order, commit, limited, ports);
    await releases.complete(order.deployment_id, release);
    return { release };
  });

/** Fetches the commit of a source and writes its files into the folder of the release; answers the commit. */
export async function fetchSource(
  order: Order,
  { log, signal, end }: LimitedRun,
  { git, releases, limits }: Pick<BuildPorts, "git" | "releases" | "limits">,
): Promise<string> {
  const { source, pin } = order;
  const app = releases.appOf(order.deployment_id);
  const what = source.tag ? `tag ${source.tag}` : source.branch ? `branch ${source.branch}` : "the default branch";
  log({ level: "info", message: `Fetching ${source.repo}, ${pin === null ? what : `commit ${pin}`}` });
  const resolved = await git.resolve(order, signal);
  await git.alone(resolved, limits.disk_bytes, signal, async (before_bytes) => {
    const room = { limits, written: writtenTo([resolved.cache, app], before_bytes) };
    let isTooLarge = false;
    const passed = (reason: string) => {
      isTooLarge = true;
      end(`the repository is too large: ${reason}`);
    };
    const unwatch = watchLimits(() => undefined, room, passed);
    try {
      await git.fetch(resolved, source.repo, signal);
      await git.checkout(resolved, app, signal);
      // A fast fetch ends before the first count.
      const reason = await diskReason(room);
      if (reason !== undefined) passed(reason);
    } finally {
      unwatch();
      if (isTooLarge) await rm(resolved.cache, { recursive: true, force: true, maxRetries: 3 });
    }
  });
  if (signal.aborted) throw new Failure("it was ended");
  log({ level: "info", message: `Checked out commit ${resolved.commit}` });
  for (const message of notices(app)) log({ level: "warn", message });
  return resolved.commit;
}

/** Parts that are not fetched, and would be missing. */
function notices(app: string): string[] {
  const usesLfs = /filter=lfs/.test(readWithin(app, ".gitattributes") ?? "");
  return [
    ...(existsSync(join(app, ".gitmodules")) ? ["Submodules are not fetched"] : []),
    ...(usesLfs ? ["Files of Git LFS are not fetched: the release holds their pointers"] : []),
  ];
}

function make(order: Order, commit: string, run: Run, ports: BuildPorts): Promise<StoredRelease> {
  const { caches, limits } = ports;
  return caches.withPackages(order, limits.disk_bytes / 2, (cache, stored_bytes) =>
    runBuild({ order, commit, cache, stored_bytes }, run, ports),
  );
}

interface Given {
  readonly order: Order;
  readonly commit: string;
  /** The packages that the builds of an environment share, with the bytes that lay there before. */
  readonly cache: string;
  readonly stored_bytes: number;
}

/** A repository that another runtime has to run. */
function decline({ start, folder, steps, hasDockerfile, runtime }: Plan, leavesDockerfiles: boolean): void {
  if (runtime === "engine") {
    if (leavesDockerfiles) throw new Declined("svc.json asks for the runtime engine");
    throw new Failure("svc.json asks for the runtime engine, which is not among deployments.runtime");
  }
  const saysNothing = start === undefined && folder === undefined && steps.length === 0;
  if (leavesDockerfiles && saysNothing && hasDockerfile && runtime === undefined)
    throw new Declined("the repository has a Dockerfile, and says nothing of how it runs as a process");
}

async function runBuild(
  { order, commit, cache, stored_bytes }: Given,
  run: Run,
  { releases, machine, limits, leavesDockerfiles }: BuildPorts,
): Promise<StoredRelease> {
  const app = releases.appOf(order.deployment_id);
  const temporary = releases.temporaryOf(order.deployment_id);
  const plan = detect(app);
  decline(plan, leavesDockerfiles);
  if (plan.found.length > 0) run.log({ level: "info", message: `Found ${plan.found.join(", ")}` });
  const variables = variablesOf({ ...order, version: order.version ?? order.source.tag ?? commit });
  const hide = hideValues(order.secrets);
  const folders = [app, temporary, cache];
  const { sandbox, files, userOf } = machine;
  const user = await userOf(order.organization_id);
  const places = { name: order.deployment_id, packages: cache, app, temporary, user, bytes: limits.disk_bytes };
  const disk = plan.steps.length === 0 ? undefined : await machine.disks?.open(places);
  if (!disk) for (const path of folders) await files.own(path, user);
  const written = disk?.written ?? writtenTo(folders, stored_bytes);
  const steps: Build = { ...run, ...order, sandbox, limits, hide, written };
  const building: Box = {
    app,
    user,
    build: { cache, temporary },
    ...(disk && { within: disk.within }),
    env: { CI: "1", NO_COLOR: "1", ...variables },
    memory_bytes: limits.memory_bytes,
  };
  let runs: Awaited<ReturnType<typeof runSteps>>;
  try {
    runs = await runSteps(plan, building, steps, leavesDockerfiles);
    if (disk)
      await releases
        .replaceApp(order.deployment_id, (to) => disk.copyApp(to, run.signal))
        .catch(({ message }: Error) => {
          throw new Failure(`what was built could not be copied: ${message.slice(-300)}`);
        });
  } finally {
    disk?.close();
  }
  if (plan.release !== undefined) {
    run.log({ level: "info", message: `Running the release command: ${hide(plan.release)}` });
    // The disk is gone. The result of the build lies in the folder of the app alone.
    const after: Build = disk ? { ...steps, written: writtenTo([app], await folderBytes(app)) } : steps;
    const env = { NODE_ENV: "production", ...variables };
    const box: Box = { app, user, env, memory_bytes: limits.memory_bytes };
    await runStep({ name: "The release command", command: plan.release }, box, after);
  }
  const bytes = await folderBytes(app);
  run.log({ level: "info", message: `Built a release of ${byteSizeText(bytes)}` });
  const { health, port, workers, schedules, hasInstalled, variables: own } = plan;
  return {
    commit,
    ...runs,
    health,
    port: port ?? null,
    hasInstalled,
    variables: { ...own },
    bytes,
    workers,
    schedules,
  };
}

/** Runs the steps of a build, and decides by their result what the release runs. */
async function runSteps(
  plan: Plan,
  building: Box,
  build: Build,
  leavesDockerfiles: boolean,
): Promise<Pick<StoredRelease, "start" | "folder" | "fallback">> {
  const { log, hide } = build;
  for (const step of plan.steps) {
    log({ level: "info", message: `${step.name}: ${hide(step.command)}` });
    await runStep(step, building, build).catch((error) => {
      const isElsewhere = error instanceof Lacking && leavesDockerfiles && plan.hasDockerfile;
      throw isElsewhere && plan.runtime === undefined ? new Declined(error.message) : error;
    });
  }
  const look = (script: string) => printed(script, building, build);
  const found = await served(plan, look);
  if ("start" in found) return { start: found.start, folder: null, fallback: null };
  if (plan.start !== undefined)
    log({ level: "info", message: `The static folder ${found.folder} replaces the development server: ${plan.start}` });
  const fallback = await fallbackOf(plan, found.folder, look);
  const isAlone = plan.release === undefined && plan.workers.length + plan.schedules.length === 0;
  // What a site was built from is many times larger than it.
  if (isAlone && found.folder !== ".") await look(keepFolder(found.folder));
  return { start: null, folder: found.folder, fallback };
}
