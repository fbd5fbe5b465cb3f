import { byteSizeText } from "../../kernel/byte-size.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { monotonicNow } from "../../kernel/system.ts";
import type { LogLine } from "../deployment/contract.ts";
import type { Child } from "./child.ts";
import type { Step } from "./detect.ts";
import { Failure } from "./failure.ts";
import { createLineReader, tellsOfMemory } from "./lines.ts";
import { descendantsOf, killStrays, memoryOf } from "./process-table.ts";
import { type Box, maxProcesses, type Sandbox } from "./sandbox.ts";

export interface BuildLimits {
  readonly memory_bytes: number;
  readonly disk_bytes: number;
}

/** The bytes that a build has written so far, counted as far as `most`. */
export type Written = (most: number) => Promise<number>;

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
  readonly written: Written;
}

const watch_ms = 100;
/** Looking through all files of a build takes a while, so it happens less often than it took. */
const diskPause = 10;

/** The reason to end a build that has written too much; undefined while it has not. */
export async function diskReason({
  limits: { disk_bytes },
  written,
}: Pick<Build, "limits" | "written">): Promise<string | undefined> {
  if ((await written(disk_bytes)) <= disk_bytes) return undefined;
  return `it wrote more than deployments.buildDisk (${byteSizeText(disk_bytes)})`;
}

const memoryReason = ({ memory_bytes }: BuildLimits) =>
  `it used more memory than deployments.buildMemory (${byteSizeText(memory_bytes)})`;
const processesReason = `it ran more than ${maxProcesses} processes`;

/** Watches the limits of all processes of a build together; answers the reason when one is passed. */
export function watchLimits(
  reasonOf: () => string | undefined,
  { limits, written }: Pick<Build, "limits" | "written">,
  passed: (reason: string) => void,
): () => void {
  let stopped = false;
  let cancel = () => {};
  let nextDisk = 0;
  const over = (reason: string) => {
    if (!stopped) passed(reason);
  };
  const look = async () => {
    const used = reasonOf();
    if (used !== undefined) return over(used);
    const begun = monotonicNow();
    if (begun >= nextDisk) {
      const reason = await diskReason({ limits, written });
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

/** Why a build has to end. Without a control group, its processes are counted. */
const reasonOf = (child: Child, limits: BuildLimits) => () => {
  const passed = child.passed?.();
  if (child.passed) return passed === "memory" ? memoryReason(limits) : passed && processesReason;
  const below = child.pid === undefined ? [] : descendantsOf(child.pid);
  if (below.length > maxProcesses) return processesReason;
  return memoryOf(below) > limits.memory_bytes ? memoryReason(limits) : undefined;
};

/** What a script prints that looks at the result of a build. */
export async function printed(script: string, box: Box, { sandbox, signal }: Pick<Build, "sandbox" | "signal">) {
  let text = "";
  const child = sandbox.start(script, box, (chunk) => {
    if (text.length < 4096) text += chunk;
    return 0;
  });
  signal.addEventListener("abort", child.kill);
  const { code } = await child.ended;
  signal.removeEventListener("abort", child.kill);
  if (signal.aborted) throw new Failure("it was ended");
  if (code === 0) return text;
  throw new Failure(`the result of the build could not be looked at: ${text.trim()}`);
}

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
  // What no log has room for is thrown away, which takes no time worth a pause.
  const child = sandbox.start(command, box, (chunk) => (isFull() ? 0 : reader.write(chunk)));
  let reason: string | undefined;
  const end = (why: string) => {
    reason ??= why;
    child.kill();
  };
  const abort = () => end("it was ended");
  signal.addEventListener("abort", abort);
  const unwatch = watchLimits(reasonOf(child, build.limits), build, end);
  const { code, signal: by, passed } = await child.ended;
  unwatch();
  signal.removeEventListener("abort", abort);
  reader.end();
  if (sandbox.name === "none") killStrays((of) => of.deployment_id === build.deployment_id && of.port === undefined);
  if (passed === "memory") reason ??= memoryReason(build.limits);
  if (reason !== undefined) throw new Failure(`${name} was ended: ${reason}`);
  if (by === "SIGXFSZ" || code === 128 + 25) throw new Failure(`${name} failed: it wrote a file larger than 1 GiB`);
  if (code === 0) return;
  // One that fails because nothing is left fails before anybody has looked.
  const tooMuch = await diskReason(build);
  if (tooMuch !== undefined) throw new Failure(`${name} was ended: ${tooMuch}`);
  if (lacksProgram && program !== undefined) throw new Failure(`${name} failed: ${missing(program)}`);
  if (passed === "processes") throw new Failure(`${name} failed: ${processesReason}`);
  if (outOfMemory) throw new Failure(`${name} failed: ${memoryReason(build.limits)}`);
  throw new Failure(`${name} failed with ${by ? `the signal ${by}` : `the exit code ${code}`}: ${command}`);
}
