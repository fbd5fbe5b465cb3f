import type { Service } from "../../lib/index.ts";
import { stepContext } from "../helpers/all-operations.ts";
import { ended } from "./coverage.ts";
import type { Watcher } from "./simulated-jobs.ts";
import { kill, mortal, open } from "./simulated-lives.ts";
import { stepTo } from "./simulated-steps.ts";
import type { Simulation } from "./simulated-world.ts";

/** More lives than it takes to give up a job that kills each process that runs it. */
const lives = 40;
const kinds = Object.keys(stepTo);
/** One seed in three has no trouble, one has a kind of job that fails, and one a kind that kills the process. */
const troubles = ["none", "fails", "kills"] as const;

/** No seed reached the give-up of these within its lives. */
const neverKilled = ["generations.turn", "generations.cancel"];

/** The trouble of a seed; each seed picks another kind of job. */
export function trouble(world: Simulation) {
  const seed = Number(world.seed);
  const kind = kinds[seed % kinds.length] ?? "";
  const drawn = troubles[Math.floor(seed / kinds.length) % troubles.length];
  const what = drawn === "kills" && neverKilled.includes(kind) ? "none" : drawn;
  let isOn = false;
  const watcher: Watcher = {
    fate: (of) => (isOn && of === kind && what !== "none" ? (what ?? "runs") : "runs"),
    kill() {
      // Other jobs of the killed process still run, so trouble is off for the rest of this life.
      isOn = false;
      kill(world);
    },
    ended: (end) => void world.reached.add(end),
  };

  /** Runs jobs of the kind until one is given up. Returns the service of the last life. */
  const begin = async (first: Service<string | null>): Promise<Service<string | null>> => {
    let service = first;
    const isGivenUp = () => world.reached.has(ended(kind, what === "fails" ? "exhausted" : "crashed"));
    const attempt = async (work: () => Promise<unknown> | undefined) => {
      const { life } = world;
      isOn = true;
      await work()?.catch((error) => {
        if (world.life === life) throw error;
      });
      if (world.life === life) return;
      await service.close();
      service = await open(world);
    };
    if (what === "none") return service;
    const step = () => stepTo[kind]?.(stepContext(mortal(world, service), world.random, world.record));
    const { life } = world;
    await attempt(step);
    // If the work ended at once, there was no job to kill, so the step runs again.
    for (let i = 0; i < lives && !isGivenUp(); i++)
      await attempt(what === "kills" && world.life === life ? step : () => service.clock.advance("1m"));
    isOn = false;
    return service;
  };
  return { watcher, begin };
}
