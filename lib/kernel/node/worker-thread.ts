import type { Worker } from "node:worker_threads";
import { workerThreads } from "../lazy-node-modules.ts";

/** Starts a bundle entry, or in the sources `file`: there, on Node 20 each thread has to register tsx itself. */
export function startWorker(name: string, importer: string, file: string, workerData?: unknown): Worker {
  const { Worker } = workerThreads();
  if (!importer.endsWith(".ts"))
    return new Worker(new URL(`../lib/${name}.js`, importer), { execArgv: [], workerData });
  const [tsx, source] = [import.meta.resolve("tsx/esm/api"), new URL(file, importer).href];
  const program = `import("${tsx}").then(({ register }) => { register(); return import("${source}"); })`;
  return new Worker(program, { eval: true, execArgv: [], workerData });
}
