import { systemTimer } from "../../kernel/clock.ts";
import { ownProgram } from "../../kernel/own-program.ts";
import { hideValues } from "../../kernel/secret-values.ts";
import { shellCommand } from "../../kernel/shell-words.ts";
import type { App, Instance } from "../deployment/contract.ts";
import { type AppInstance, startApp } from "./app-instance.ts";
import { variablesOf } from "./build.ts";
import { replacingShell } from "./detect.ts";
import { createLineReader } from "./lines.ts";
import type { Machine } from "./probe.ts";
import { allProcesses, killStrays, type ProcessEntry } from "./process-table.ts";
import type { Releases, StoredRelease } from "./releases.ts";

export interface InstanceSettings {
  readonly appMemory_bytes: number;
  readonly healthTimeout_ms: number;
}

type StartRun = Parameters<typeof startApp>[1];

/** What a release runs, and what it reads beside its own files. */
interface Started {
  readonly command: string;
  readonly reads: readonly string[];
}

/** The command that serves a folder of a release. */
function serving(folder: string): Started {
  const { command, reads } = ownProgram("static-server", import.meta.url, "../box/static-server.ts");
  return { command: shellCommand([...command, folder]), reads };
}

const memoryWatch_ms = 1_000;

/** Everything that runs: each instance of a release, whether a program or a static site. */
export function createInstances(
  releases: Releases,
  { sandbox, files, userOf }: Pick<Machine, "sandbox" | "files" | "userOf">,
  { appMemory_bytes: memory_bytes, healthTimeout_ms }: InstanceSettings,
) {
  const all = new Set<AppInstance>();
  let closed = false;

  const watchMemory = () => {
    if (all.size === 0 || closed) return;
    let processes: readonly ProcessEntry[] | undefined;
    const read = () => {
      processes ??= allProcesses();
      return processes;
    };
    for (const one of all) one.checkMemory(read);
    systemTimer(memoryWatch_ms, watchMemory);
  };

  const startProgram = async (app: App, { command, reads }: Started, health: string, run: StartRun) => {
    const { deployment_id } = app;
    const folder = releases.appOf(app.release);
    const user = await userOf(app.organization_id);
    // An earlier version of the service made its releases as its own user.
    await files.own(folder, user);
    const hide = hideValues(app.secrets);
    const start: Parameters<typeof startApp>[0]["start"] = (port, take) => {
      const env = { HOST: "127.0.0.1", NODE_ENV: "production", ...variablesOf(app), PORT: String(port) };
      const reader = createLineReader(take, hide);
      const box = { app: folder, user, port, reads, env, memory_bytes };
      const child = sandbox.start(replacingShell(command), box, reader.write);
      void child.ended.then(() => {
        reader.end();
        // A second instance of a deployment may run beside this one: the port tells them apart.
        if (sandbox.name === "none") killStrays((of) => of.deployment_id === deployment_id && of.port === String(port));
      });
      return child;
    };
    const onStopped = () => all.delete(instance);
    // The relay of a box takes a connection before it knows whether anybody listens inside.
    const refusal = (port: number) => `nothing listens on port ${port}, which the variable PORT names`;
    const program = { deployment_id, start, health, healthTimeout_ms, memory_bytes, onStopped, refusal };
    const instance = await startApp(program, run);
    all.add(instance);
    if (all.size === 1) systemTimer(memoryWatch_ms, watchMemory);
    return instance;
  };

  return {
    /** Starts a release; resolves once it is healthy. */
    start: (app: App, { start, folder, health }: StoredRelease, run: StartRun): Promise<Instance> =>
      startProgram(app, start === null ? serving(folder ?? ".") : { command: start, reads: [] }, health, run),

    async close(grace_ms: number): Promise<void> {
      closed = true;
      await Promise.all([...all].map((one) => one.stop(grace_ms)));
    },
  };
}
export type Instances = ReturnType<typeof createInstances>;
