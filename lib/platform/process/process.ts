import { join } from "node:path";
import { killProcessesIn } from "../../kernel/node/process-table.ts";
import { plainFiles } from "../box/tenant-files.ts";
import { createDataFolders } from "../runtime/data-folders.ts";
import type { Release, RuntimeKind, RuntimeSettings } from "../runtime/driver.ts";
import { createGit } from "../runtime/git.ts";
import { createProjectCaches } from "../runtime/project-caches.ts";
import { refusalOf } from "../runtime/refused-sources.ts";
import { createReleases, type StoredRelease } from "../runtime/releases.ts";
import { type BuildPorts, build } from "./build.ts";
import { createInstances, type InstanceSettings, type Instances } from "./instances.ts";
import { type IsolationSettings, type Machine, probeMachine } from "./probe.ts";

export interface ProcessSettings extends RuntimeSettings, InstanceSettings, IsolationSettings {
  /** Whether another runtime takes a repository that has a `Dockerfile` but does not say how it runs as a process. */
  readonly leavesDockerfiles?: boolean;
}

/** The whole shutdown has ten seconds. */
const closingGrace_ms = 4_000;

/** Runs git sources as processes of this machine. All its files are in `folder`. */
export function createProcessRuntime(
  folder: string,
  { codeHost, limits, leavesDockerfiles = false, dataFolder = join(folder, "data"), ...settings }: ProcessSettings,
): RuntimeKind {
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

  const releaseOf = (name: string, release: StoredRelease): Release => ({
    name,
    pin: release.commit,
    workers: release.workers,
    schedules: release.schedules,
    start(app, run) {
      if ("PORT" in app.variables)
        run.log({ level: "warn", message: "The variable PORT is ignored: each release gets a port of its own" });
      const message = release.start === null ? "Serving static files" : `Starting: ${release.start}`;
      run.log({ level: "info", message });
      return ports().instances.start(app, release, run);
    },
    command: (app, schedule, take, signals) => ports().instances.command(app, release, schedule, take, signals),
  });

  return {
    name: "process",

    refuses: (source) => refusalOf(["process"], source),

    detail: () => `process, with the isolation ${settings.isolation}`,

    protections: () => begun?.machine.protections ?? [],

    async begin({ mayFetch }) {
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
    },

    async find(name) {
      const release = await releases.find(name);
      return release && releaseOf(name, release);
    },

    build: async (order, run) => releaseOf(order.deployment_id, await build(order, run, ports().build)),

    releases: () => releases,
    caches,
    data,

    async close() {
      await begun?.instances.close(closingGrace_ms);
      gitGroup.entries = [];
      await begun?.machine.close();
    },
  };
}
