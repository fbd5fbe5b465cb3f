import { readFileSync } from "node:fs";

/** How many descriptors the process may have; Infinity where the system is not Linux. */
function descriptorLimit(): number {
  try {
    // Linux alone has this file. `process.report` knows the limit everywhere, and takes 12 ms to say it.
    return Number(/^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** Kept for the database, files and children when connections and requests have taken all that they may. */
const reserve = 64;

/** How many descriptors connections may take, and how many requests of our own to receivers. */
export function descriptorShares(limit = descriptorLimit()): {
  readonly connections: number;
  readonly requests: number;
} {
  const requests = Math.floor(limit / 4);
  return { connections: Math.max(limit - reserve - requests, Math.floor(limit / 2)), requests };
}
