import { byteSizeText } from "../../kernel/byte-size.ts";
import { AbortController } from "../../kernel/web.ts";
import type { Run } from "../deployment/background-steps.ts";
import { deadline } from "./deadline.ts";
import { freeBytes } from "./disk.ts";
import { Failure } from "./failure.ts";

/** A build that a limit can end. */
export type LimitedRun = Run & { readonly end: (reason: string) => void };

/** No build starts with less, in bytes: the database needs room too. */
const leastFree = 1024 ** 3;

/** Runs a build if there is room for it, and ends it at a limit. Rejects with the limit that it passed. */
export async function withinLimits<T>(
  run: Run,
  { folder, limits: { timeout_ms } }: { readonly folder: string; readonly limits: { readonly timeout_ms: number } },
  work: (run: LimitedRun) => Promise<T>,
): Promise<T> {
  const free = await freeBytes(folder);
  if (free < leastFree) throw new Failure(`only ${byteSizeText(free)} of disk is free, and a build needs 1 GiB`);
  const ending = new AbortController();
  let reason: string | undefined;
  const end = (why: string) => {
    reason ??= why;
    ending.abort();
  };
  const abort = () => end("it was ended");
  run.signal.addEventListener("abort", abort);
  if (run.signal.aborted) abort();
  const cancel = deadline(timeout_ms, () =>
    end(`the build took longer than deployments.buildTimeout (${timeout_ms / 1000} s)`),
  );
  try {
    const made = await work({ ...run, signal: ending.signal, end });
    // A limit may be passed while no process runs that it could end.
    if (reason !== undefined) throw new Failure(reason);
    return made;
  } catch (error) {
    throw reason === undefined ? error : new Failure(reason);
  } finally {
    cancel();
    run.signal.removeEventListener("abort", abort);
  }
}
