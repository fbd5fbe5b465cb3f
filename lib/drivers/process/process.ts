import { join } from "node:path";
import { createBackgroundSteps } from "../deployment/background-steps.ts";
import { refusalOf } from "../deployment/refused-sources.ts";
import type { RuntimeDriver } from "../deployment/runtime-list.ts";
import { type BuildPorts, build } from "./build.ts";
import { createGit } from "./git.ts";
import type { CodeHost } from "./git-command.ts";
import { createInstances, type InstanceSettings, type Instances } from "./instances.ts";
import { probeSandbox } from "./probe.ts";
import { killProcessesIn } from "./process-table.ts";
import { createProjectCaches } from "./project-caches.ts";
import { createReleases } from "./releases.ts";
import type { Sandbox } from "./sandbox.ts";

export interface ProcessSettings extends InstanceSettings {
  readonly codeHost: CodeHost;
  readonly isolation: Sandbox["name"];
  readonly limits: BuildPorts["limits"];
  /** Whether another runtime takes a repository that has a `Dockerfile`, and nothing that says how it runs as a process. */
  readonly leavesDockerfiles?: boolean;
}

/** While the server stops, everything together has ten seconds. */
const closingGrace_ms = 4_000;

/** Runs git sources as processes of this machine. Everything that it stores lies in `folder`. */
export function createProcessDriver(
  folder: string,
  { codeHost, isolation, limits, leavesDockerfiles = false, ...settings }: ProcessSettings,
): RuntimeDriver {
  const releases = createReleases(join(folder, "releases"));
  const caches = createProjectCaches(join(folder, "cache"));
  let begun: { readonly build: BuildPorts; readonly instances: Instances } | undefined;

  const ports = () => {
    if (!begun) throw new Error("the runtime has not begun");
    return begun;
  };

  const discard = (release: string) => releases.remove(release);

  const steps = createBackgroundSteps({
    pinned: "commit",

    async releaseOf(order, wanted, run) {
      const found = wanted === null ? undefined : await releases.find(wanted);
      if (found && wanted !== null) return { name: wanted, stored: found, pin: found.commit, isNew: false };
      const { release } = await build(order, run, ports().build);
      return { name: order.deployment_id, stored: release, pin: release.commit, isNew: true };
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

      detail: () => `process, with the isolation ${isolation}`,

      stores: async (release) => (await releases.find(release)) !== undefined,

      async begin({ release: keepsRelease, project: keepsProject }) {
        killProcessesIn(folder);
        const sandbox = await probeSandbox(folder, isolation);
        const git = createGit(join(folder, "git"), caches.folder, codeHost);
        begun = {
          build: { git, releases, sandbox, folder, caches, limits, leavesDockerfiles },
          instances: createInstances(releases, sandbox, settings),
        };
        for (const name of await releases.names()) if (!(await keepsRelease(name))) await discard(name);
        await caches.removeOthers(keepsProject);
      },

      abandon: steps.abandon,

      take: steps.take,

      start: steps.start,

      discard,

      forget: caches.forget,

      async close(drained) {
        await steps.close(drained);
        await begun?.instances.close(closingGrace_ms);
      },
    },
  };
}
