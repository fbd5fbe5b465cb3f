import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

const last = availableParallelism() - 1;
const processors = {
  load: "0",
  servers: "1",
  /** Shares the load's processor if there are fewer than four. */
  database: last >= 3 ? String(last) : "0",
  several: last >= 3 ? `1-${last - 1}` : "1",
};
type Part = keyof typeof processors;
const canPin = availableParallelism() >= 2 && spawnSync("taskset", ["-V"]).error === undefined;

/**
 * Pins a process with all its threads to one processor. Servers and load get different processors, so that neither
 * slows the other. Without Linux's `taskset` the system decides.
 */
export function pin({ pid }: { readonly pid?: number | undefined }, part: Part): void {
  if (canPin) spawnSync("taskset", ["-a", "-c", "-p", processors[part], String(pid)], { stdio: "ignore" });
}

/** The command line that runs a program on its processor. */
export const pinned = (part: Part, program: string): string[] =>
  canPin ? ["taskset", "-c", processors[part], program] : [program];

/** The processor time of a process in microseconds; known on Linux only, in hundredths of a second. */
export function processorOf(pid: number | undefined): number {
  try {
    const words = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return (Number(words[11]) + Number(words[12])) * 10_000;
  } catch {
    return Number.NaN;
  }
}
