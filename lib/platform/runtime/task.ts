import type { App, LogLine, Progress } from "../../drivers/deployment/contract.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { deploymentLog } from "../../kernel/limits.ts";
import { AbortController } from "../../kernel/node/web.ts";

export type End = Exclude<Progress, { state: "running" }>;

/** The log, the signal and the callbacks for the work of a deployment. */
export interface Run {
  readonly log: (line: LogLine) => void;
  readonly isFull: () => boolean;
  readonly signal: AbortSignal;
  readonly resolved: (commit: string) => void;
}

/** A deployment, or a live release that is built or started again. */
export type Order = Omit<App, "release">;

/** Lines are delivered in batches, this long after the first line. */
const batch_ms = 100;
/** A step answers at least this often, so its job never holds a lease for long. */
const maxStep_ms = 5_000;
/** A deployment stores no more than this, so further build output is not even read. */
const max = { lines: deploymentLog.entries + 1, bytes: deploymentLog.bytes } as const;

/** Background work whose progress the service polls. */
export type Task = ReturnType<typeof createTask>;

export function createTask(work: (run: Run) => Promise<End>) {
  const aborting = new AbortController();
  let lines: LogLine[] = [];
  let logged = 0;
  let bytes = 0;
  let end: End | undefined;
  let fault: { readonly error: unknown } | undefined;
  let commit: string | undefined;
  let wakeUp = () => {};
  const isFull = () => logged >= max.lines || bytes > max.bytes;
  const log = (line: LogLine) => {
    if (isFull()) return;
    logged += 1;
    bytes += line.message.length;
    lines.push(line);
    if (lines.length === 1) wakeUp();
  };
  const resolved = (id: string) => {
    commit = id;
  };
  const ended = work({ log, isFull, signal: aborting.signal, resolved })
    .then(
      (answer) => {
        end = answer;
      },
      (error: unknown) => {
        fault = { error };
      },
    )
    .then(() => wakeUp());
  const hasEnded = () => end !== undefined || fault !== undefined;
  /** Waits until something is logged or the work ends. */
  const news = (limit_ms: number) =>
    new Promise<void>((resolve) => {
      const cancel = systemTimer(limit_ms, resolve);
      wakeUp = () => {
        cancel();
        resolve();
      };
    });
  return {
    /** Returns the progress since the last call, once there is any. Rejects on an unexpected error. */
    async progress(): Promise<Progress> {
      if (!hasEnded() && lines.length === 0) await news(maxStep_ms);
      // If the work ends, the wait ends too.
      if (!hasEnded()) await news(batch_ms);
      if (fault) throw fault.error;
      const logs = lines;
      lines = [];
      const known = commit === undefined ? {} : { commit };
      if (end?.state === "failed") return { ...end, ...known, logs: [...logs, ...end.logs] };
      if (end) return { ...end, logs: [...logs, ...end.logs] };
      return { state: "running", again_ms: 1, handle: "begun", ...known, logs };
    },
    /** Aborts the work. Resolves when all its processes have ended. */
    async abort(): Promise<void> {
      aborting.abort();
      await ended;
    },
  };
}
