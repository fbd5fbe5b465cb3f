import type { CommandEnd, Crash, LogLine, Schedule } from "../../drivers/deployment/contract.ts";
import { deadline } from "../../kernel/deadline.ts";
import type { Child, Ending } from "../../kernel/node/child-process.ts";
import { descendantsOf, memoryOf, type ProcessEntry } from "../../kernel/node/process-table.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { backoff_ms, onAbort, pause, stable_ms } from "./pause.ts";

/** A command that runs beside the app: another line of its Procfile. */
export interface Worker {
  readonly name: string;
  readonly command: string;
}

const marked = (name: string, { level, message }: LogLine): LogLine => ({
  level,
  message: `[${name}] ${message}`,
});

/** How a command ended, as the end of a sentence. The shell exits with 127 if it cannot find a command. */
const endOf = ({ code, signal, reason, passed }: Ending, command: string): string =>
  passed === "memory"
    ? "used more memory than deployments.appMemory"
    : (reason ??
      (code === 127
        ? `ended with the exit code 127: the command was not found: ${command}`
        : `ended ${signal ? `by the signal ${signal}` : `with the exit code ${code}`}`));

/** Ends a command that exceeds its memory limit; returns whether it did. */
export function endBeyondMemory(child: Child | undefined, bytes: number, all: () => readonly ProcessEntry[]): boolean {
  if (child?.pid === undefined || child.ending) return false;
  const { pid } = child;
  const isBeyond = child.passed
    ? child.passed() === "memory"
    : memoryOf([...all().filter((one) => one.pid === pid), ...descendantsOf(pid, all())]) > bytes;
  if (isBeyond) child.kill();
  return isBeyond;
}

interface Ports {
  readonly start: (worker: Worker, take: (line: LogLine) => void) => Child;
  readonly output: (line: LogLine) => void;
  readonly crashed: (crash: Crash) => void;
  readonly memory_bytes: number;
}

export type Workers = ReturnType<typeof createWorkers>;

/** The workers of a release. A worker that ends is restarted, with growing back-off. */
export function createWorkers(workers: readonly Worker[], { start, output, crashed, memory_bytes }: Ports) {
  const stopping = new AbortController();
  const running = new Set<Child>();
  const keep = async (worker: Worker): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted; failures++) {
      const since = monotonicNow();
      const child = start(worker, (line) => output(marked(worker.name, line)));
      running.add(child);
      const how = await child.ended;
      running.delete(child);
      if (stopping.signal.aborted) return;
      if (monotonicNow() - since >= stable_ms) failures = 0;
      const wait_ms = backoff_ms(failures);
      const message = `The worker ${endOf(how, worker.command)}; it starts again in ${wait_ms / 1000} s`;
      output(marked(worker.name, { level: "error", message }));
      crashed({ process: worker.name, exit_code: how.code });
      await pause(wait_ms, stopping.signal);
    }
  };
  let begun = false;
  return {
    start(): void {
      if (begun || stopping.signal.aborted) return;
      begun = true;
      for (const worker of workers) void keep(worker);
    },
    /** Asks the workers to end, and kills them after the grace period. They are not restarted. */
    async stop(grace_ms: number): Promise<void> {
      stopping.abort();
      await Promise.all([...running].map((child) => child.stop(grace_ms)));
    },
    checkMemory(all: () => readonly ProcessEntry[]): void {
      for (const child of running) endBeyondMemory(child, memory_bytes, all);
    },
  };
}

/** Runs the command of a schedule, and ends it at its timeout. Prefixes its lines with its name. */
export async function runScheduled(
  { name, command, timeout_s }: Schedule,
  take: (line: LogLine) => void,
  signals: readonly AbortSignal[],
  start: (take: (line: LogLine) => void) => Child,
): Promise<CommandEnd> {
  const child = start((line) => take(marked(name, line)));
  let isLate = false;
  const end = () => void child.stop(5_000);
  const cancel = deadline(timeout_s * 1_000, () => {
    isLate = true;
    end();
  });
  const listeners = signals.map((signal) => onAbort(signal, end));
  const how = await child.ended;
  cancel();
  for (const stopListening of listeners) stopListening();
  if (isLate) return { exit_code: null, reason: `did not end within its timeout of ${timeout_s} s` };
  return { exit_code: how.code, reason: how.code === 0 && how.reason === undefined ? undefined : endOf(how, command) };
}
