import { join } from "node:path";
import { hideValues } from "../../kernel/secrets/secret-values.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { rootWithin } from "../runtime/app-settings.ts";
import { type BuildLimits, withinLimits } from "../runtime/build-limits.ts";
import { folderBytes, writtenTo } from "../runtime/disk.ts";
import { Declined, Failure, Lacking } from "../runtime/failure.ts";
import type { Git } from "../runtime/git.ts";
import type { ProjectCaches } from "../runtime/project-caches.ts";
import type { Releases, StoredRelease } from "../runtime/releases.ts";
import { explainMissing, fetchSource, secretsIn, variablesOf } from "../runtime/source.ts";
import type { Order, Run } from "../runtime/task.ts";
import { createEngineReader } from "./build-advice.ts";
import { type Build, firstLine, printed, runStep } from "./build-steps.ts";
import { detect, type Plan } from "./detect.ts";
import { exampleVariables, unsetAdvice } from "./example-variables.ts";
import { provideLanguages } from "./language-versions.ts";
import type { Machine } from "./probe.ts";
import { programFault } from "./program-faults.ts";
import { prune } from "./prune.ts";
import type { Box } from "./sandbox.ts";
import { fallbackOf, keepFolder, served, siteProgram } from "./static-folder.ts";
import { provideTools, toolsFolder } from "./tools.ts";

export interface BuildPorts {
  readonly git: Git;
  readonly releases: Releases;
  readonly machine: Machine;
  readonly folder: string;
  readonly caches: ProjectCaches;
  readonly limits: BuildLimits & { readonly timeout_ms: number };
  readonly variables: Readonly<Record<string, string>>;
  readonly leavesDockerfiles: boolean;
}

/** Builds a release from a commit: fetches the commit, detects its kind, then installs and builds it in a sandbox. */
export const build = (order: Order, run: Run, ports: BuildPorts): Promise<StoredRelease> =>
  withinLimits(run, ports, async (limited) => {
    const { releases, caches, limits } = ports;
    await releases.create(order.deployment_id);
    const { commit, missing } = await fetchSource(order, limited, ports);
    const release = await caches
      .withPackages(order, limits.disk_bytes / 2, (path, bytes) =>
        runBuild(order, commit, { path, bytes }, limited, ports),
      )
      .catch((error) => {
        throw explainMissing(missing, error);
      });
    const complete = { ...release, missing: [...missing] };
    await releases.complete(order.deployment_id, complete);
    return complete;
  });

function decline({ start, folder, steps, hasDockerfile, runtime }: Plan, leavesDockerfiles: boolean): void {
  if (runtime === "engine") {
    if (leavesDockerfiles) throw new Declined("svc.json asks for the runtime engine");
    throw new Failure("svc.json asks for the runtime engine, which is not among deployments.runtime");
  }
  const saysNothing = start === undefined && folder === undefined && steps.length === 0;
  if (leavesDockerfiles && saysNothing && hasDockerfile && runtime === undefined)
    throw new Declined("the repository has a Dockerfile, but does not say how to run it as a process");
}

async function runBuild(
  order: Order,
  commit: string,
  cache: { readonly path: string; readonly bytes: number },
  run: Run,
  { releases, machine, limits, variables: ofBuilds, leavesDockerfiles }: BuildPorts,
): Promise<StoredRelease> {
  const app = releases.appOf(order.deployment_id);
  const temporary = releases.temporaryOf(order.deployment_id);
  const root = order.root ?? "";
  const plan = detect(rootWithin(app, order.root), app);
  if (root !== "") run.log({ level: "info", message: `Building the folder ${root}` });
  decline(plan, leavesDockerfiles);
  const example = exampleVariables(rootWithin(app, order.root));
  if (plan.found.length > 0) run.log({ level: "info", message: `Found ${plan.found.join(", ")}` });
  const variables = variablesOf({ ...order, version: order.version ?? order.source.tag ?? commit });
  const hide = hideValues([...order.secrets, ...secretsIn(ofBuilds)]);
  const folders = [app, temporary, cache.path];
  const { sandbox, files, userOf } = machine;
  const user = await userOf(order.organization_id);
  const places = { name: order.deployment_id, packages: cache.path, app, temporary, user, bytes: limits.disk_bytes };
  const disk = plan.steps.length === 0 ? undefined : await machine.disks?.open(places);
  if (!disk) for (const path of folders) await files.own(path, user);
  const written = disk?.written ?? writtenTo(folders, cache.bytes);
  const unset = unsetAdvice(example, variables);
  const steps: Build = { ...run, ...order, sandbox, limits, hide, written, engines: createEngineReader(), unset };
  const at = disk ?? places;
  const building: Box = {
    app: at.app,
    root,
    user,
    build: { cache: at.packages, temporary: at.temporary },
    ...(disk && { within: disk.within }),
    env: { NO_COLOR: "1", ...ofBuilds, ...variables },
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
    // The disk is closed. Only the app's folder contains the result of the build.
    const after: Build = disk ? { ...steps, written: writtenTo([app], await folderBytes(app)) } : steps;
    const env = { NODE_ENV: "production", ...plan.variables, ...variables };
    const box: Box = { app, root, user, env, hasLayer: true, memory_bytes: limits.memory_bytes };
    await runStep({ name: "The release command", command: plan.release }, box, after);
  }
  const bytes = await folderBytes(app);
  run.log({ level: "info", message: `Built a release of ${byteSizeText(bytes)}` });
  return { commit, root, ...runs, ...kept(plan), ...(example && { example }), bytes };
}

const kept = ({ health, port, workers, schedules, hasInstalled, otherLanguage, variables }: Plan) => ({
  health: health ?? null,
  port: port ?? null,
  hasInstalled,
  missing: [],
  ...(!hasInstalled && otherLanguage !== undefined && { otherLanguage: otherLanguage.replace("the", "The") }),
  variables,
  workers,
  schedules,
});

/** Refuses commands that cannot run: a file of the repository, or a program of a language that is not built here. */
async function checkPrograms(plan: Plan, start: string | undefined, look: (script: string) => Promise<string>) {
  const { workers, schedules, release, otherLanguage } = plan;
  const commands = [start, release, ...[...workers, ...schedules].map(({ command }) => command)];
  const fault = await programFault(
    commands.filter((one) => one !== undefined),
    look,
  );
  if (fault?.reason !== undefined) throw new Failure(fault.reason);
  if (fault && otherLanguage !== undefined)
    throw new Lacking(`the command ${fault.program} was not found: ${otherLanguage}`);
}

async function runSteps(
  plan: Plan,
  building: Box,
  build: Build,
  leavesDockerfiles: boolean,
): Promise<Pick<StoredRelease, "start" | "folder" | "fallback" | "isPruned">> {
  const { log, hide } = build;
  const isElsewhere = leavesDockerfiles && plan.hasDockerfile && plan.runtime === undefined;
  const look = (script: string) => printed(script, building, build);
  let runs: Awaited<ReturnType<typeof served>>;
  try {
    await provideLanguages(plan, building, build);
    const env = { ...(await provideTools(plan, building, build)), ...building.env };
    for (const step of plan.steps) {
      log({ level: "info", message: `${step.name}: ${hide(firstLine(step.command))}` });
      await runStep(step, { ...building, env }, build);
    }
    runs = await served(plan, look);
    await checkPrograms(plan, "start" in runs ? runs.start : undefined, look);
  } catch (error) {
    throw error instanceof Lacking && isElsewhere ? new Declined(error.message) : error;
  }
  if ("start" in runs) {
    const isPruned = await prune(plan, runs.start, building, build);
    return { start: runs.start, folder: null, fallback: null, isPruned };
  }
  if (plan.start !== undefined)
    log({ level: "info", message: `The static folder ${runs.folder} replaces the development server: ${plan.start}` });
  const fallback = await fallbackOf(plan, runs.folder, look);
  const isAlone = plan.release === undefined && plan.workers.length + plan.schedules.length === 0;
  // A site's sources are many times larger than the site, so only its folder is kept.
  const folder = join(building.root ?? "", runs.folder);
  const keep = folder === "." ? `rm -rf ${toolsFolder}` : keepFolder(folder);
  if (isAlone) await printed(keep, { ...building, root: "" }, build);
  const { command, reads } = siteProgram("--compress", runs.folder);
  // A site works without compressed files.
  await printed(`${command} || true`, { ...building, reads }, build);
  return { start: null, folder: runs.folder, fallback, isPruned: false };
}
