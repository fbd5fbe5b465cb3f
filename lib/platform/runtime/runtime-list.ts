import type {
  DeploymentDriver,
  DeploymentSource,
  DeploymentWork,
  LogLine,
  Progress,
  Runtime,
} from "../../drivers/deployment/contract.ts";
import { Declined } from "./failure.ts";

/** A deployment driver that also runs the releases that it builds. */
export type RuntimeDriver = DeploymentDriver & {
  readonly runtime: Runtime & {
    detail(): string;
    /** Whether it has the files of a release. */
    stores(release: string): Promise<boolean>;
  };
};

const info = (message: string): LogLine => ({ level: "info", message });

/**
 * Combines several runtimes: the first that accepts a source runs it
 * (fixtures/hosting/apps.md#deployments-that-really-run).
 */
export function createRuntimeList(drivers: readonly RuntimeDriver[]): RuntimeDriver {
  const runtimes = drivers.map(({ runtime }) => runtime);
  /** How many drivers have declined a deployment's source so far, during its build. */
  const declined = new Map<string, number>();

  const accepting = (source: DeploymentSource) =>
    drivers.filter(({ runtime }) => runtime.refuses(source) === undefined);

  /** The runtime that stores the release; else the first that accepts the source and has not declined it. */
  const driverOf = async ({
    source,
    release,
    deployment_id,
  }: Pick<DeploymentWork, "source" | "release" | "deployment_id">) => {
    if (release !== null) for (const one of drivers) if (await one.runtime.stores(release)) return one;
    const left = accepting(source).slice(declined.get(deployment_id) ?? 0);
    return left[0] ?? drivers[0];
  };

  const all = async (work: (runtime: Runtime) => Promise<void>) => void (await Promise.all(runtimes.map(work)));

  return {
    delay: () => 0,

    async step(work) {
      const driver = await driverOf(work);
      if (!driver) throw new Error("there is no runtime");
      const answer = await driver.step(work);
      if (answer.state !== "failed" || !answer.isDeclined) return answer;
      const count = (declined.get(work.deployment_id) ?? 0) + 1;
      const next = accepting(work.source)[count];
      if (!next) return answer;
      declined.set(work.deployment_id, count);
      await driver.runtime.abandon(work.deployment_id);
      // The last line is the failure reason. It is dropped while another runtime takes over.
      const logs = [
        ...answer.logs.slice(0, -1),
        info(`The runtime ${next.runtime.name} is tried next: ${answer.message}`),
      ];
      return { state: "running", again_ms: 1, handle: null, logs } satisfies Progress;
    },

    runtime: {
      name: runtimes.map(({ name }) => name).join(","),

      refuses: (source) => {
        const rules = runtimes.map((runtime) => runtime.refuses(source));
        return rules.includes(undefined) ? undefined : rules[0];
      },

      detail: () => runtimes.map((one) => one.detail()).join("; "),

      protections: () => runtimes.flatMap((one) => one.protections?.() ?? []),

      stores: async (release) => (await Promise.all(runtimes.map((one) => one.stores(release)))).includes(true),

      async begin(kept) {
        for (const runtime of runtimes) await runtime.begin(kept);
      },

      abandon(deployment_id) {
        declined.delete(deployment_id);
        return all((runtime) => runtime.abandon(deployment_id));
      },

      take(deployment_id) {
        declined.delete(deployment_id);
        for (const runtime of runtimes) {
          const instance = runtime.take(deployment_id);
          if (instance) return instance;
        }
        return undefined;
      },

      async start(app) {
        const first = await driverOf(app);
        // A release that is no longer stored is rebuilt by any runtime that accepts its source.
        const others = accepting(app.source).filter((one) => one !== first);
        let refusal: unknown = new Error("there is no runtime");
        for (const driver of first ? [first, ...others] : others) {
          try {
            return await driver.runtime.start(app);
          } catch (error) {
            if (!(error instanceof Declined)) throw error;
            refusal = error;
          }
        }
        throw refusal;
      },

      async command(app, schedule, take, signal) {
        const driver = await driverOf(app);
        if (!driver?.runtime.command) throw new Error("no runtime runs commands of this release");
        return driver.runtime.command(app, schedule, take, signal);
      },

      async dataBytes(of) {
        for (const runtime of runtimes) {
          const bytes = await runtime.dataBytes?.(of);
          if (bytes !== undefined) return bytes;
        }
        return undefined;
      },

      retireData: (of) => all(async (runtime) => runtime.retireData?.(of)),
      discard: (release) => all((runtime) => runtime.discard(release)),
      forget: (project_id, environment) => all((runtime) => runtime.forget(project_id, environment)),
      close: (drained) => all((runtime) => runtime.close(drained)),
    },
  };
}
