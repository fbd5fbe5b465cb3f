import { chmod } from "node:fs/promises";
import type { App, Instance, LogLine, Schedule } from "../../drivers/deployment/contract.ts";
import type { Child } from "../../kernel/node/child-process.ts";
import { hideValues } from "../../kernel/secrets/secret-values.ts";
import { type Program, startApp } from "../runtime/app-instance.ts";
import type { DataFolders } from "../runtime/data-folders.ts";
import type { RuntimeSettings } from "../runtime/driver.ts";
import { Failure } from "../runtime/failure.ts";
import { createPacing } from "../runtime/lines.ts";
import { variablesOf } from "../runtime/source.ts";
import { createWorkers, runScheduled, type Workers } from "../runtime/workers.ts";
import type { Engine } from "./connect.ts";
import { adoptContainer, runContainer } from "./container-child.ts";
import { type Containers, labels } from "./container-settings.ts";
import { deniedAdvice } from "./denied-advice.ts";
import { besideOf, healthOf, portOf } from "./image-settings.ts";
import type { Image } from "./images.ts";
import { ensureNetwork, type Names } from "./ownership.ts";

interface Ports extends Pick<RuntimeSettings, "appMemory_bytes" | "healthTimeout_ms" | "scratch_bytes"> {
  readonly engine: Engine;
  readonly containers: Containers;
  readonly data: DataFolders;
  readonly names: Names;
  /** Containers of live releases that an earlier process left running. */
  readonly left: Set<Running>;
  readonly detaching: AbortSignal;
}

export interface Running {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The time up to which its log was read, in seconds since 1970. */
  readonly since_s: number;
}

type TakeLine = (line: LogLine) => void;
type WorkersTell = Parameters<NonNullable<Program["workers"]>>[0];
type StartRun = Parameters<typeof startApp>[1];

const grace_ms = 10_000;

export function createEngineInstances({ engine, containers, names, detaching, data, left, ...limits }: Ports) {
  const all = new Set<Instance>();
  const commands = new Set<Child>();
  const memory_bytes = limits.appMemory_bytes;
  const paced = createPacing();

  const labelsOf = ({ deployment_id, environment, project_id }: App, beside: string) => ({
    [labels.folder]: names.folder,
    [labels.deployment]: deployment_id,
    [labels.environment]: environment,
    [labels.project]: project_id,
    [labels.beside]: beside,
  });

  const givenOf = ({ organization_id, secrets }: App, take: TakeLine) => ({
    ...{ containers, organization_id, take, hide: hideValues(secrets), detaching, paced },
    scratch_bytes: limits.scratch_bytes,
  });

  /** The settings that an app shares with its workers and schedules. */
  const orderOf = async (app: App, image: Image) => {
    const folder = await data.open(app, undefined);
    // An image may run as any user. The parent folder keeps other users out.
    await chmod(folder, 0o777).catch(() => {});
    await ensureNetwork(engine.api, names);
    const env = { NODE_ENV: "production", DATA_DIR: "/data", ...variablesOf(app) };
    const { hasInit, isPodman } = engine;
    return { image, env, memory_bytes, data: folder, network: names.network, hasInit, isPodman };
  };
  type Order = Awaited<ReturnType<typeof orderOf>>;

  const takeLeft = (app: App, beside: string): Running | undefined => {
    const its = Object.entries(labelsOf(app, beside));
    const container = [...left].find((one) => its.every(([name, value]) => one.labels[name] === value));
    if (container) left.delete(container);
    return container;
  };

  /** Ends the remaining workers of an environment's earlier releases. */
  const endLeft = async ({ project_id, environment }: App): Promise<void> => {
    for (const one of left) {
      if (one.labels[labels.project] !== project_id || one.labels[labels.environment] !== environment) continue;
      left.delete(one);
      await containers.stop(one.id, grace_ms).catch(() => {});
      await containers.remove(one.id);
    }
  };

  const startBeside = (app: App, order: Order, beside: string, command: string, take: TakeLine): Child => {
    const running = takeLeft(app, beside);
    if (running) return adoptContainer(running.id, running.since_s, givenOf(app, take));
    return runContainer({ ...order, command, labels: labelsOf(app, beside) }, givenOf(app, take));
  };

  const workersOf = (app: App, order: Order, tell: WorkersTell): Workers => {
    const start: Parameters<typeof createWorkers>[1]["start"] = ({ name, command }, take) =>
      startBeside(app, order, `worker ${name}`, command, take);
    const { workers } = besideOf(order.image);
    const its = createWorkers(workers, { start, ...tell, memory_bytes });
    const begin = async () => {
      its.start();
      await endLeft(app);
    };
    return { ...its, start: () => void begin().catch(() => {}) };
  };

  const programOf = (app: App, order: Order, onStopped: () => void): Program => {
    const inside = portOf(app.variables, order.image);
    const env = { HOST: "0.0.0.0", ...order.env, PORT: String(inside) };
    return {
      deployment_id: app.deployment_id,
      start: ({ port: host }, take) =>
        runContainer({ ...order, env, labels: labelsOf(app, ""), ports: { inside, host } }, givenOf(app, take)),
      health: healthOf(order.image),
      url: app.url,
      refusal: () => `nothing listens on port ${inside} of the container, which the variable PORT names`,
      // Exit code 126: the program may not be executed. The advice is about files that it may not write.
      explain: (ending, printed) => (ending?.code === 126 ? "" : deniedAdvice(printed)),
      healthTimeout_ms: limits.healthTimeout_ms,
      memory_bytes,
      workers: (tell) => workersOf(app, order, tell),
      onStopped,
    };
  };

  const begin = async (app: App, image: Image, run: StartRun, running?: Running): Promise<Instance> => {
    const program = programOf(app, await orderOf(app, image), () => all.delete(instance));
    const port = running && (await containers.state(running.id, run.signal))?.hostPort;
    if (running && port === undefined) throw new Failure("the container has no port any more");
    const taken = running &&
      port !== undefined && {
        port,
        adopt: (take: TakeLine) => adoptContainer(running.id, running.since_s, givenOf(app, take)),
      };
    const instance: Instance = await startApp({ ...program, ...(taken && { running: taken }) }, run);
    all.add(instance);
    return instance;
  };

  return {
    /** Takes over the running container of a release. Starts a new one if none runs or it is not healthy. */
    async start(app: App, image: Image, run: StartRun): Promise<Instance> {
      const running = takeLeft(app, "");
      if (!running) return begin(app, image, run);
      try {
        return await begin(app, image, run, running);
      } catch {
        await containers.remove(running.id);
        return begin(app, image, run);
      }
    },

    async command(app: App, image: Image, schedule: Schedule, take: TakeLine, signals: readonly AbortSignal[]) {
      const order = await orderOf(app, image);
      const start = (marked: TakeLine) => {
        const child = startBeside(app, order, `schedule ${schedule.name}`, schedule.command, marked);
        commands.add(child);
        void child.ended.then(() => commands.delete(child));
        return child;
      };
      return runScheduled(schedule, take, signals, start);
    },

    /** Ends the commands of schedules, because the next process cannot take them over. */
    endCommands: async (grace_ms: number) =>
      void (await Promise.all([...commands].map((child) => child.stop(grace_ms)))),

    /** Ends all instances. Used if the next process will not take them over. */
    stopAll: async (grace_ms: number) => void (await Promise.all([...all].map((one) => one.stop(grace_ms)))),
  };
}
export type EngineInstances = ReturnType<typeof createEngineInstances>;
