import { readFileSync } from "node:fs";

/** The process's limit of file descriptors; Infinity except on Linux. */
export function descriptorLimit(): number {
  try {
    // Only Linux has this file. `process.report` knows the limit on every system, but takes 12 ms.
    return Number(/^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** Reserved for the database, files and children when connections and requests have reached their limits. */
const reserve = 64;

/** The descriptors available to connections, and to our own requests to receivers. */
export function descriptorShares(limit = descriptorLimit()): {
  readonly connections: number;
  readonly requests: number;
} {
  const requests = Math.floor(limit / 4);
  return { connections: Math.max(limit - reserve - requests, Math.floor(limit / 2)), requests };
}
