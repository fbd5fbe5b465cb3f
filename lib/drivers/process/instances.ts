import { join } from "node:path";
import { systemTimer } from "../../kernel/clock.ts";
import { hideValues } from "../../kernel/secret-values.ts";
import type { App, Instance } from "../deployment/contract.ts";
import { type AppInstance, startApp } from "./app-instance.ts";
import { variablesOf } from "./build.ts";
import { startChild } from "./child.ts";
import { replacingShell } from "./detect.ts";
import { createLineReader } from "./lines.ts";
import { allProcesses, killStrays } from "./process-table.ts";
import type { Releases, StoredRelease } from "./releases.ts";
import type { Sandbox } from "./sandbox.ts";
import { serveFolder } from "./static-site.ts";

export interface InstanceSettings {
  readonly appMemory_bytes: number;
  readonly healthTimeout_ms: number;
}

type StartRun = Parameters<typeof startApp>[1];

const memoryWatch_ms = 1_000;

/** Everything that runs: each instance of a release, whether a program or a static site. */
export function createInstances(
  releases: Releases,
  sandbox: Sandbox,
  { appMemory_bytes: memory_bytes, healthTimeout_ms }: InstanceSettings,
) {
  const all = new Set<Instance>();
  const programs = new Set<AppInstance>();
  let closed = false;

  const watchMemory = () => {
    if (programs.size === 0 || closed) return;
    const processes = allProcesses();
    for (const one of programs) one.checkMemory(processes);
    systemTimer(memoryWatch_ms, watchMemory);
  };

  const startSite = async ({ deployment_id, release }: App, folder: string) => {
    const { port, close } = await serveFolder(join(releases.appOf(release), folder));
    const site: Instance = {
      deployment_id,
      port,
      up: async () => true,
      output: () => {},
      async stop() {
        await close();
        all.delete(site);
      },
    };
    all.add(site);
    return site;
  };

  const startProgram = async (app: App, command: string, health: string, run: StartRun) => {
    const { deployment_id } = app;
    const hide = hideValues(app.secrets);
    const start: Parameters<typeof startApp>[0]["start"] = (port, take) => {
      const env = { HOST: "127.0.0.1", NODE_ENV: "production", ...variablesOf(app), PORT: String(port) };
      const reader = createLineReader(take, hide);
      const box = { app: releases.appOf(app.release), env, memory_bytes };
      const child = startChild(sandbox.command(replacingShell(command), box), reader.write);
      void child.ended.then(() => {
        reader.end();
        // A second instance of a deployment may run beside this one: the port tells them apart.
        if (sandbox.name === "none") killStrays((of) => of.deployment_id === deployment_id && of.port === String(port));
      });
      return child;
    };
    const onStopped = () => {
      all.delete(instance);
      programs.delete(instance);
    };
    const instance = await startApp({ deployment_id, start, health, healthTimeout_ms, memory_bytes, onStopped }, run);
    all.add(instance);
    programs.add(instance);
    if (programs.size === 1) systemTimer(memoryWatch_ms, watchMemory);
    return instance;
  };

  return {
    /** Starts a release; resolves once it is healthy. */
    start: (app: App, { start, folder, health }: StoredRelease, run: StartRun): Promise<Instance> =>
      start === null ? startSite(app, folder ?? ".") : startProgram(app, start, health, run),

    async close(grace_ms: number): Promise<void> {
      closed = true;
      await Promise.all([...all].map((one) => one.stop(grace_ms)));
    },
  };
}
export type Instances = ReturnType<typeof createInstances>;
