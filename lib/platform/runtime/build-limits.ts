import { deadline } from "../../kernel/deadline.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { lackOfDisk } from "./disk.ts";
import { Failure } from "./failure.ts";
import { onAbort, repeat } from "./pause.ts";
import type { Run } from "./task.ts";

export type LimitedRun = Run & { readonly end: (reason: string) => void };

export interface BuildLimits {
  readonly memory_bytes: number;
  readonly disk_bytes: number;
}

/** Counts the bytes that a build has written so far. Stops counting at `most`. */
export type Written = (most: number) => Promise<number>;

interface Watched {
  readonly limits: BuildLimits;
  readonly written: Written;
}

/** Runs a build if there is enough disk space, and ends it at a limit. Rejects with the limit that it exceeded. */
export async function withinLimits<T>(
  run: Run,
  { folder, limits: { timeout_ms } }: { readonly folder: string; readonly limits: { readonly timeout_ms: number } },
  work: (run: LimitedRun) => Promise<T>,
): Promise<T> {
  const lack = await lackOfDisk(folder, "a build");
  if (lack !== undefined) throw new Failure(lack);
  const ending = new AbortController();
  let reason: string | undefined;
  const end = (why: string) => {
    reason ??= why;
    ending.abort();
  };
  const stopListening = onAbort(run.signal, () => end("it was ended"));
  const cancel = deadline(timeout_ms, () =>
    end(`the build took longer than deployments.buildTimeout (${timeout_ms / 1000} s)`),
  );
  try {
    const result = await work({ ...run, signal: ending.signal, end });
    // A limit may be exceeded while no process of the build runs.
    if (reason !== undefined) throw new Failure(reason);
    return result;
  } catch (error) {
    throw reason === undefined ? error : new Failure(reason);
  } finally {
    cancel();
    stopListening();
  }
}

const watch_ms = 100;
/** Counting a build's files takes time. The pause between counts is this many times longer than a count. */
const diskPause = 10;

export async function diskReason({ limits: { disk_bytes }, written }: Watched): Promise<string | undefined> {
  if ((await written(disk_bytes)) <= disk_bytes) return undefined;
  return `it wrote more than deployments.buildDisk (${byteSizeText(disk_bytes)})`;
}

/** Watches the limits of a build, and reports an exceeded one. Returns the function that stops watching. */
export function watchLimits(
  reasonOf: () => string | undefined,
  { limits, written }: Watched,
  passed: (reason: string) => void,
): () => void {
  let isOver = false;
  let nextDisk = 0;
  const lookAtDisk = async (begun: number) => {
    const reason = await diskReason({ limits, written });
    nextDisk = monotonicNow() + Math.max(watch_ms, diskPause * (monotonicNow() - begun));
    return reason;
  };
  const stop = repeat(watch_ms, async () => {
    const now = monotonicNow();
    const reason = reasonOf() ?? (now < nextDisk ? undefined : await lookAtDisk(now));
    if (reason === undefined || isOver) return;
    stop();
    passed(reason);
  });
  return () => {
    isOver = true;
    stop();
  };
}
