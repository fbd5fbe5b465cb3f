import { byteSizeText } from "../../kernel/byte-size.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { monotonicNow } from "../../kernel/system.ts";
import type { LogLine } from "../deployment/contract.ts";
import { type Child, startChild } from "./child.ts";
import type { Step } from "./detect.ts";
import { bytesOf } from "./disk.ts";
import { Failure } from "./failure.ts";
import { createLineReader, tellsOfMemory } from "./lines.ts";
import { descendantsOf, killStrays, memoryOf } from "./process-table.ts";
import { type Box, maxProcesses, type Sandbox } from "./sandbox.ts";

export interface BuildLimits {
  readonly memory_bytes: number;
  readonly disk_bytes: number;
}

/** What one build uses: its sandbox, its log, its end. */
export interface Build {
  readonly deployment_id: string;
  readonly sandbox: Sandbox;
  readonly limits: BuildLimits;
  readonly log: (line: LogLine) => void;
  readonly hide: (text: string) => string;
  /** Whether more lines are of any use. */
  readonly isFull: () => boolean;
  readonly signal: AbortSignal;
  /** Folders that count for the limit of disk space, and what they held before. */
  readonly folders: readonly string[];
  readonly before_bytes: number;
}

const watch_ms = 100;
/** Looking through all files of a build takes a while, so it happens less often than it took. */
const diskPause = 10;

/** The reason to end a build that has written too much; undefined while it has not. */
export async function diskReason({
  limits: { disk_bytes },
  folders,
  before_bytes,
}: Pick<Build, "limits" | "folders" | "before_bytes">): Promise<string | undefined> {
  const most = before_bytes + disk_bytes;
  if ((await bytesOf(folders, most)) <= most) return undefined;
  return `it wrote more than deployments.buildDisk (${byteSizeText(disk_bytes)})`;
}

/** Watches the limits of all processes of a build together; answers the reason when one is passed. */
export function watchLimits(
  usage: () => { memory_bytes: number; processes: number },
  { limits, folders, before_bytes }: Pick<Build, "limits" | "folders" | "before_bytes">,
  passed: (reason: string) => void,
): () => void {
  let stopped = false;
  let cancel = () => {};
  let nextDisk = 0;
  const over = (reason: string) => {
    if (!stopped) passed(reason);
  };
  const look = async () => {
    const { memory_bytes, processes } = usage();
    if (memory_bytes > limits.memory_bytes)
      return over(`it used more memory than deployments.buildMemory (${byteSizeText(limits.memory_bytes)})`);
    if (processes > maxProcesses) return over(`it ran more than ${maxProcesses} processes`);
    const begun = monotonicNow();
    if (begun >= nextDisk) {
      const reason = await diskReason({ limits, folders, before_bytes });
      if (reason !== undefined) return over(reason);
      nextDisk = monotonicNow() + Math.max(watch_ms, diskPause * (monotonicNow() - begun));
    }
    if (!stopped) cancel = systemTimer(watch_ms, () => void look());
  };
  cancel = systemTimer(watch_ms, () => void look());
  return () => {
    stopped = true;
    cancel();
  };
}

const usageOf = (child: Child) => () => {
  const below = child.pid === undefined ? [] : descendantsOf(child.pid);
  // Beyond the limit of processes, their memory no longer matters.
  return { memory_bytes: below.length > maxProcesses ? 0 : memoryOf(below), processes: below.length };
};

const missing = (program: string) =>
  `builds find no ${program} on this machine; install it for all users: npm install --global ${program}`;

/** Runs one command of a build to its end. Rejects with the reason if it fails, passes a limit, or is aborted. */
export async function runStep({ name, command, program }: Step, box: Box, build: Build): Promise<void> {
  const { signal, sandbox, log, hide, isFull } = build;
  if (signal.aborted) throw new Failure("it was ended");
  let outOfMemory = false;
  let lacksProgram = false;
  const reader = createLineReader((line) => {
    outOfMemory ||= tellsOfMemory(line.message);
    // A script of a package may miss a program too, and then its manager ends in the same way.
    lacksProgram ||= program !== undefined && new RegExp(`^sh: .*\\b${program}: .*not found`).test(line.message);
    log(line);
  }, hide);
  const child = startChild(sandbox.command(command, box), (chunk) => {
    if (!isFull()) reader.write(chunk);
  });
  let reason: string | undefined;
  const end = (why: string) => {
    reason ??= why;
    child.kill();
  };
  const abort = () => end("it was ended");
  signal.addEventListener("abort", abort);
  const unwatch = watchLimits(usageOf(child), build, end);
  const { code, signal: by } = await child.ended;
  unwatch();
  signal.removeEventListener("abort", abort);
  reader.end();
  if (sandbox.name === "none") killStrays((of) => of.deployment_id === build.deployment_id && of.port === undefined);
  if (reason !== undefined) throw new Failure(`${name} was ended: ${reason}`);
  if (by === "SIGXFSZ" || code === 128 + 25) throw new Failure(`${name} failed: it wrote a file larger than 1 GiB`);
  if (code === 0) return;
  if (lacksProgram && program !== undefined) throw new Failure(`${name} failed: ${missing(program)}`);
  const limit = `deployments.buildMemory (${byteSizeText(build.limits.memory_bytes)})`;
  if (outOfMemory) throw new Failure(`${name} failed: it used more memory than ${limit}`);
  throw new Failure(`${name} failed with ${by ? `the signal ${by}` : `the exit code ${code}`}: ${command}`);
}
