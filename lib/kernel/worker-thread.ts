import { Worker } from "node:worker_threads";

/**
 * Starts a worker of the bundle, which is an entry of its own (`dist/lib/NAME.js`), or of the sources: `file`, relative to
 * the importer's URL. There each thread registers tsx, which on Node 20 reaches the main thread alone.
 */
export function startWorker(name: string, importer: string, file: string, workerData?: unknown): Worker {
  if (!importer.endsWith(".ts"))
    return new Worker(new URL(`../lib/${name}.js`, importer), { execArgv: [], workerData });
  const [tsx, source] = [import.meta.resolve("tsx/esm/api"), new URL(file, importer).href];
  const program = `import("${tsx}").then(({ register }) => { register(); return import("${source}"); })`;
  return new Worker(program, { eval: true, execArgv: [], workerData });
}
