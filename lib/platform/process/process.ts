import { join } from "node:path";
import { killProcessesIn } from "../../kernel/node/process-table.ts";
import { plainFiles } from "../box/tenant-files.ts";
import { createBackgroundSteps } from "../runtime/background-steps.ts";
import { createDataFolders } from "../runtime/data-folders.ts";
import { createGit } from "../runtime/git.ts";
import type { CodeHost } from "../runtime/git-command.ts";
import { removeLeftovers } from "../runtime/leftovers.ts";
import type { GitGroup } from "../runtime/limited-git.ts";
import { createProjectCaches } from "../runtime/project-caches.ts";
import { refusalOf } from "../runtime/refused-sources.ts";
import { createReleases } from "../runtime/releases.ts";
import type { RuntimeDriver } from "../runtime/runtime-list.ts";
import { type BuildPorts, build } from "./build.ts";
import { createInstances, type InstanceSettings, type Instances } from "./instances.ts";
import { type IsolationSettings, type Machine, probeMachine } from "./probe.ts";

export interface ProcessSettings extends InstanceSettings, IsolationSettings {
  readonly codeHost: CodeHost;
  /** The control group of git, which the runtime makes when it begins. */
  readonly gitGroup?: GitGroup;
  readonly limits: BuildPorts["limits"];
  /** Option `deployments.buildVariables`. */
  readonly buildVariables?: BuildPorts["variables"];
  /** The parent folder of the environments' data. */
  readonly dataFolder?: string;
  /** Whether another runtime takes a repository that has a `Dockerfile` but does not say how it runs as a process. */
  readonly leavesDockerfiles?: boolean;
}

/** The whole shutdown has ten seconds. */
const closingGrace_ms = 4_000;

/** Runs git sources as processes of this machine. All its files are in `folder`. */
export function createProcessDriver(
  folder: string,
  { codeHost, limits, leavesDockerfiles = false, dataFolder = join(folder, "data"), ...settings }: ProcessSettings,
): RuntimeDriver {
  const { gitGroup = { entries: [] } } = settings;
  let begun: { readonly build: BuildPorts; readonly instances: Instances; readonly machine: Machine } | undefined;
  const files = () => begun?.machine.files ?? plainFiles;
  const releases = createReleases(join(folder, "releases"), files);
  const caches = createProjectCaches(join(folder, "cache"), files);
  const data = createDataFolders(dataFolder, files);

  const ports = () => {
    if (!begun) throw new Error("the runtime has not started");
    return begun;
  };

  const discard = (release: string) => releases.remove(release);

  const steps = createBackgroundSteps({
    pinned: "commit",

    async releaseOf(order, wanted, run) {
      const found = wanted === null ? undefined : await releases.find(wanted);
      if (found && wanted !== null) return { ...found, name: wanted, stored: found, pin: found.commit, isNew: false };
      const { release } = await build(order, run, ports().build);
      return { ...release, name: order.deployment_id, stored: release, pin: release.commit, isNew: true };
    },

    warnings: ({ variables }) =>
      "PORT" in variables ? ["The variable PORT is ignored: each release gets a port of its own"] : [],

    start(app, { stored }, run) {
      run.log({ level: "info", message: stored.start === null ? "Serving static files" : `Starting: ${stored.start}` });
      return ports().instances.start(app, stored, run);
    },

    discard,
  });

  return {
    delay: () => 0,

    step: steps.step,

    runtime: {
      name: "process",

      refuses: (source) => refusalOf(["process"], source),

      detail: () => `process, with the isolation ${settings.isolation}`,

      protections: () => begun?.machine.protections ?? [],

      stores: async (release) => (await releases.find(release)) !== undefined,

      async begin({ release: keepsRelease, project: keepsProject, environment: keepsData, mayFetch, warn }) {
        killProcessesIn(folder);
        const machine = await probeMachine(folder, settings);
        gitGroup.entries = machine.gitEntries;
        const git = createGit(join(folder, "git"), caches.folder, { ...codeHost, mayFetch }, gitGroup);
        const { buildVariables: variables = {} } = settings;
        begun = {
          machine,
          build: { git, releases, machine, folder, caches, limits, variables, leavesDockerfiles },
          instances: createInstances(releases, machine, data, settings),
        };
        await removeLeftovers(releases, keepsRelease, warn);
        await removeLeftovers(caches, keepsProject, warn);
        if (keepsData) await data.removeGone(keepsData);
      },

      abandon: steps.abandon,

      take: steps.take,

      start: steps.start,

      discard,

      async command(app, schedule, take, signal) {
        const { name } = await steps.release(app);
        return ports().instances.command({ ...app, release: name }, schedule, take, [signal, steps.signal]);
      },

      dataBytes: data.bytes,

      retireData: data.retire,

      async forget(project_id, environment) {
        await caches.remove(project_id, environment);
        await data.remove(project_id, environment);
      },

      async close(drained) {
        await steps.close(drained);
        await begun?.instances.close(closingGrace_ms);
        gitGroup.entries = [];
        await begun?.machine.close();
      },
    },
  };
}
