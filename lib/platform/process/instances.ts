import type { App, Instance, LogLine, Schedule } from "../../drivers/deployment/contract.ts";
import { systemTimer } from "../../kernel/clock.ts";
import type { Ending } from "../../kernel/node/child-process.ts";
import { allProcesses, killStrays, type ProcessEntry } from "../../kernel/node/process-table.ts";
import { hideValues } from "../../kernel/secrets/secret-values.ts";
import { loopbackRelay } from "../box/loopback-relay.ts";
import { type AppInstance, type Program, startApp } from "../runtime/app-instance.ts";
import type { DataFolders } from "../runtime/data-folders.ts";
import type { RuntimeSettings } from "../runtime/driver.ts";
import { createLineReader, createPacing } from "../runtime/lines.ts";
import { replacingShell } from "../runtime/procfile.ts";
import type { Releases, StoredRelease } from "../runtime/releases.ts";
import { variablesOf } from "../runtime/source.ts";
import { createWorkers, runScheduled } from "../runtime/workers.ts";
import { unsetAdvice } from "./example-variables.ts";
import { adviceOf, errorIn } from "./failure-advice.ts";
import { installCommand, notFoundIn } from "./missing-programs.ts";
import type { Machine } from "./probe.ts";
import { deniedIn, notExecutable } from "./program-faults.ts";
import type { Box } from "./sandbox.ts";
import { siteProgram } from "./static-folder.ts";

export interface InstanceSettings extends Pick<RuntimeSettings, "appMemory_bytes" | "healthTimeout_ms"> {
  readonly dataLimit_bytes: number;
}

type TakeLine = (line: LogLine) => void;
type StartRun = Parameters<typeof startApp>[1];

/** The reason for the exit code 127: the shell did not find a command. */
function notFound(command: string, hasInstalled: boolean, printed: readonly LogLine[]): string {
  const program = printed.map(({ message }) => notFoundIn(message)).findLast((one) => one !== undefined);
  const installing = installCommand(program ?? "");
  const what = `: the command ${program ?? command} was not found`;
  if (installing !== undefined) return `${what}; install it for all users: ${installing}`;
  if (hasInstalled) return what;
  return `${what}; nothing was installed: the repository has no package.json, requirements.txt, pyproject.toml or go.mod`;
}

/** The advice for the exit code 126: the shell may not execute a file. */
function deniedAdvice(printed: readonly LogLine[]): string {
  const program = printed.map(({ message }) => deniedIn(message)).find((one) => one !== undefined);
  return program === undefined ? "" : `: ${notExecutable(program)}`;
}

/** Messages of interpreters about a program that was not built. */
const absentProgram = /no such file|\bjar(?:file)?\b|(?:can ?not|can't|could not|unable to) (?:access|find|load|open)/i;

/** Whether a start failed because its program is missing or cannot be executed. */
const lacksProgram = (ending: Ending | undefined, printed: readonly LogLine[]): boolean =>
  ending?.code === 126 ||
  ending?.code === 127 ||
  (ending !== undefined && printed.some(({ message }) => absentProgram.test(message)));

const memoryWatch_ms = 1_000;

export function createInstances(
  releases: Releases,
  { sandbox, files, userOf }: Pick<Machine, "sandbox" | "files" | "userOf">,
  data: DataFolders,
  { appMemory_bytes: memory_bytes, healthTimeout_ms, dataLimit_bytes }: InstanceSettings,
) {
  const all = new Set<AppInstance>();
  const paced = createPacing();
  let closed = false;

  const watchMemory = () => {
    if (all.size === 0 || closed) return;
    let processes: readonly ProcessEntry[] | undefined;
    const read = () => {
      processes ??= allProcesses();
      return processes;
    };
    systemTimer(memoryWatch_ms, watchMemory);
    try {
      for (const one of all) one.checkMemory(read);
    } catch {
      // The process may lack descriptors for a moment. The next look is in a second.
    }
  };

  const boxOf = async (app: App, root: string) => {
    const folder = releases.appOf(app.release);
    const user = await userOf(app.organization_id);
    // The releases of earlier versions belong to the service's user.
    await files.own(folder, user);
    return {
      app: folder,
      root,
      user,
      env: {},
      data: { folder: await data.open(app, user), bytes: dataLimit_bytes },
      memory_bytes,
    };
  };

  /** Starts a worker or a scheduled command. It has no port. */
  const startCommand = (app: App, box: Box, command: string, take: TakeLine) => {
    const reader = createLineReader(take, hideValues(app.secrets));
    const env = { NODE_ENV: "production", ...box.env, ...variablesOf(app) };
    const within = { ...box, env, hasLayer: true };
    const child = sandbox.start(replacingShell(command), within, paced(app.organization_id, reader.write));
    void child.ended.then(reader.end);
    return child;
  };

  const startProgram = async (
    app: App,
    { command, reads }: { readonly command: string; readonly reads: readonly string[] },
    release: StoredRelease,
    run: StartRun,
  ) => {
    // A static site writes no files.
    const hasLayer = release.start !== null;
    const { deployment_id } = app;
    const { health, port: ownPort, missing, otherLanguage, variables } = release;
    const common = await boxOf(app, release.root);
    const hide = hideValues(app.secrets);
    const start: Parameters<typeof startApp>[0]["start"] = ({ port, inside, isOnlyIpv6 }, take) => {
      const told = String(inside);
      const env = { HOST: "127.0.0.1", NODE_ENV: "production", ...variables, ...variablesOf(app), PORT: told };
      const reader = createLineReader(take, hide);
      const box = { ...common, port, inside, reads, hasLayer, env };
      const script = (isOnlyIpv6 ? loopbackRelay(inside) : "") + replacingShell(command);
      const child = sandbox.start(script, box, paced(app.organization_id, reader.write));
      void child.ended.then(() => {
        reader.end();
        // A deployment may have a second instance at the same time. The port tells them apart.
        if (sandbox.name === "none") killStrays((of) => of.deployment_id === deployment_id && of.port === told);
      });
      return child;
    };
    const onStopped = () => all.delete(instance);
    // The box's relay accepts a connection before it knows whether the app listens.
    const refusal = (port: number) => `nothing listens on port ${port}, which the variable PORT names`;
    const beside: Program["workers"] = (tell) =>
      createWorkers(release.workers, {
        start: (worker, take) => startCommand(app, { ...common, env: variables }, worker.command, take),
        ...tell,
        memory_bytes,
      });
    const program = {
      ...{ deployment_id, start, health, url: app.url, healthTimeout_ms, memory_bytes, onStopped, refusal },
      workers: beside,
      ...(hasLayer && sandbox.layerOf && { layerOf: sandbox.layerOf }),
      ...(sandbox.listening && { listening: sandbox.listening, ...(ownPort !== null && { port: ownPort }) }),
      explain: (ending: Ending | undefined, printed: readonly LogLine[]) => {
        const { isPruned, example, hasInstalled } = release;
        const about = { reachesLoopback: sandbox.listening === undefined, isPruned, variables: app.variables };
        const denied = ending?.code === 126 ? deniedAdvice(printed) : "";
        const specificAdvice = denied || adviceOf(printed, about);
        const advice =
          ending?.code === 127
            ? notFound(command, hasInstalled, printed)
            : specificAdvice || (ending === undefined ? "" : errorIn(printed)) + unsetAdvice(example, app.variables);
        const isOther = otherLanguage !== undefined && specificAdvice === "" && lacksProgram(ending, printed);
        return [advice, ...missing, ...(isOther ? [otherLanguage] : [])].join(". ");
      },
    };
    const instance = await startApp(program, run);
    all.add(instance);
    if (all.size === 1) systemTimer(memoryWatch_ms, watchMemory);
    return instance;
  };

  return {
    start: (app: App, release: StoredRelease, run: StartRun): Promise<Instance> => {
      const { start, folder, fallback } = release;
      const started =
        start === null
          ? siteProgram(folder ?? ".", ...(fallback === null ? [] : [fallback]))
          : { command: start, reads: [] };
      return startProgram(app, started, release, run);
    },

    async command(
      app: App,
      { root, variables }: StoredRelease,
      schedule: Schedule,
      take: TakeLine,
      signals: readonly AbortSignal[],
    ) {
      const box = { ...(await boxOf(app, root)), env: variables };
      return runScheduled(schedule, take, signals, (marked) => startCommand(app, box, schedule.command, marked));
    },

    async close(grace_ms: number): Promise<void> {
      closed = true;
      await Promise.all([...all].map((one) => one.stop(grace_ms)));
    },
  };
}
export type Instances = ReturnType<typeof createInstances>;
