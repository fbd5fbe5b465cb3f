import { hideValues } from "../../kernel/secret-values.ts";
import type { App, Instance } from "../deployment/contract.ts";
import { type Program, startApp } from "../process/app-instance.ts";
import { variablesOf } from "../process/build.ts";
import { Failure } from "../process/failure.ts";
import type { Engine } from "./connect.ts";
import { adoptContainer, runContainer } from "./container-child.ts";
import { type Containers, labels } from "./containers.ts";
import type { Image } from "./images.ts";
import { ensureNetwork, type Names } from "./ownership.ts";

interface Ports {
  readonly engine: Engine;
  readonly containers: Containers;
  readonly names: Names;
  readonly appMemory_bytes: number;
  readonly healthTimeout_ms: number;
  /** The end of this process. */
  readonly detaching: AbortSignal;
}

/** A container that ran before this process. */
export interface Running {
  readonly id: string;
  /** Where its log was left, in seconds since 1970. */
  readonly since_s: number;
}

type StartRun = Parameters<typeof startApp>[1];

const defaultPort = 8080;

const portIn = (text: string | undefined) =>
  text !== undefined && /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
    ? Number(text)
    : undefined;

/** The variable PORT, else the port of svc.json, else the only one that the image exposes, else 8080. */
function portOf(variables: Readonly<Record<string, string>>, { ports, labels: its }: Image): number {
  const own = variables["PORT"];
  const port = portIn(own);
  if (own !== undefined && port === undefined)
    throw new Failure(`the variable PORT must be a port from 1 to 65535, not ${own}`);
  const [exposed, another] = ports;
  return port ?? portIn(its[labels.port]) ?? (another === undefined ? exposed : undefined) ?? defaultPort;
}

/** The path of svc.json. The label may also be one of an image that somebody else built. */
function healthOf({ labels: its }: Image): string {
  const path = its[labels.health] ?? "/";
  return /^\/[\x21-\x7e]{0,1023}$/.test(path) ? path : "/";
}

/** The containers that run now, each as the instance of a release. */
export function createEngineInstances({ engine, containers, names, detaching, ...limits }: Ports) {
  const all = new Set<Instance>();

  const programOf = (app: App, image: Image, onStopped: () => void): Program => {
    const port = portOf(app.variables, image);
    const env = { HOST: "0.0.0.0", NODE_ENV: "production", ...variablesOf(app), PORT: String(port) };
    const { deployment_id, environment, project_id } = app;
    const hide = hideValues(app.secrets);
    const ownLabels = {
      [labels.folder]: names.folder,
      [labels.deployment]: deployment_id,
      [labels.environment]: environment,
      [labels.project]: project_id,
    };
    const memory_bytes = limits.appMemory_bytes;
    const { hasInit, isPodman } = engine;
    const order = { image, env, labels: ownLabels, port, memory_bytes, network: names.network };
    return {
      deployment_id,
      start: (hostPort, take) =>
        runContainer({ ...order, hostPort, hasInit, isPodman }, { containers, take, hide, detaching }),
      health: healthOf(image),
      refusal: () => `nothing listens on port ${port} of the container, which the variable PORT names`,
      healthTimeout_ms: limits.healthTimeout_ms,
      memory_bytes,
      onStopped,
    };
  };

  const begin = async (app: App, image: Image, run: StartRun, running?: Running): Promise<Instance> => {
    const program = programOf(app, image, () => all.delete(instance));
    const port = running && (await containers.state(running.id, run.signal))?.hostPort;
    if (running && port === undefined) throw new Failure("the container has no port any more");
    const hide = hideValues(app.secrets);
    const taken = running &&
      port !== undefined && {
        port,
        adopt: (take: Parameters<Program["start"]>[1]) =>
          adoptContainer(running.id, running.since_s, { containers, take, hide, detaching }),
      };
    await ensureNetwork(engine.api, names);
    const instance: Instance = await startApp({ ...program, ...(taken && { running: taken }) }, run);
    all.add(instance);
    return instance;
  };

  return {
    /** Starts a release in a new container; resolves once it is healthy. */
    start: (app: App, image: Image, run: StartRun) => begin(app, image, run),

    /** Takes over a container that runs; rejects where it is not healthy, and removes it. */
    async adopt(app: App, image: Image, running: Running, run: StartRun): Promise<Instance> {
      try {
        return await begin(app, image, run, running);
      } catch (error) {
        await containers.remove(running.id);
        throw error;
      }
    },

    /** Ends them all: nobody will take them over. */
    stopAll: async (grace_ms: number) => void (await Promise.all([...all].map((one) => one.stop(grace_ms)))),
  };
}
export type EngineInstances = ReturnType<typeof createEngineInstances>;
