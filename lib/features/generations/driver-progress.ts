import type { GenerationDriver } from "../../drivers/generation/contract.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { workOf } from "./driver-work.ts";
import { generationsRepository } from "./repository.ts";

type Generation = Row<"generations">;

interface Ports extends Pick<Core, "store" | "clock"> {
  readonly publish: (tx: Tx, row: Generation, at: string) => void;
}

const interval_ms = milliseconds("1s");

/** Stores and publishes the progress of a driver that works in this process, so that other servers show it. */
export function createDriverProgress({ store, clock, publish }: Ports) {
  const generations = store.using(generationsRepository);

  return async <T>(row: Generation, driver: GenerationDriver, answer: Promise<T>): Promise<T> => {
    if (!driver.progressOf || driver.takesScenarios) return answer;
    let stored = row.progress;
    let hasEnded = false;
    let cancel = () => {};
    const look = async () => {
      const part = driver.progressOf?.(workOf(row, clock.now()));
      const progress = part === undefined ? null : Math.round(part * 100);
      if (progress !== null && progress !== stored) {
        const isRunning = await store.transaction(row, async (tx) => {
          if ((await generations(tx).setHandle({ ...row, progress })) === 0) return false;
          publish(tx, { ...row, progress }, clock.iso());
          return true;
        });
        if (!isRunning) return;
        stored = progress;
      }
      if (!hasEnded) wait();
    };
    // The store reports a failed write itself, and the next look writes again.
    const wait = () => {
      cancel = clock.alarmAfter(interval_ms, () => void look().catch(() => !hasEnded && wait()));
    };
    wait();
    return answer.finally(() => {
      hasEnded = true;
      cancel();
    });
  };
}
