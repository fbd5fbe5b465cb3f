import type { LogLine } from "../../drivers/deployment/contract.ts";
import { maxProcesses } from "../../kernel/limits.ts";
import type { Child } from "../../kernel/node/child-process.ts";
import { descendantsOf, killStrays, memoryOf } from "../../kernel/node/process-table.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { type BuildLimits, diskReason, type Written, watchLimits } from "../runtime/build-limits.ts";
import { Failure, Lacking } from "../runtime/failure.ts";
import { createLineReader, pauseUnread, tellsOfMemory } from "../runtime/lines.ts";
import { onAbort } from "../runtime/pause.ts";
import { createAdviceReader, type createEngineReader } from "./build-advice.ts";
import { installCommand, lackIn, lacking, notFoundIn } from "./missing-programs.ts";
import { deniedIn, notExecutable, programFault } from "./program-faults.ts";
import { type Box, outputOf, type Sandbox } from "./sandbox.ts";
import { watchSilence } from "./silence.ts";

export interface Step {
  readonly name: string;
  readonly command: string;
  readonly program?: string;
}

/** The part of a command that the log shows. The first line of a long script describes it. */
export const firstLine = (command: string): string => command.split("\n", 1)[0] ?? "";

/** The parts that all steps of one build share. */
export interface Build {
  readonly deployment_id: string;
  readonly sandbox: Sandbox;
  readonly limits: BuildLimits;
  readonly log: (line: LogLine) => void;
  readonly hide: (text: string) => string;
  readonly isFull: () => boolean;
  readonly signal: AbortSignal;
  readonly written: Written;
  readonly engines: ReturnType<typeof createEngineReader>;
  /** Advice for a failed build script: which variables of its example the environment lacks. */
  readonly unset: string;
}

const memoryReason = ({ memory_bytes }: BuildLimits) =>
  `it used more memory than deployments.buildMemory (${byteSizeText(memory_bytes)})`;
const processesReason = `it ran more than ${maxProcesses} processes`;

/** The limit that a step exceeded. Without a control group, its processes are measured here. */
const reasonOf = (child: Child, limits: BuildLimits) => () => {
  const passed = child.passed?.();
  if (child.passed) return passed === "memory" ? memoryReason(limits) : passed && processesReason;
  const below = child.pid === undefined ? [] : descendantsOf(child.pid);
  if (below.length > maxProcesses) return processesReason;
  return memoryOf(below) > limits.memory_bytes ? memoryReason(limits) : undefined;
};

/** Runs a script that inspects the result of a build, and returns its output. */
export async function printed(script: string, box: Box, { sandbox, signal }: Pick<Build, "sandbox" | "signal">) {
  let stopListening = () => {};
  const { code, text } = await outputOf((take) => {
    const child = sandbox.start(script, box, take);
    stopListening = onAbort(signal, child.kill);
    return child;
  });
  stopListening();
  if (signal.aborted) throw new Failure("it was ended");
  if (code === 0) return text;
  throw new Failure(`the result of the build could not be inspected: ${text.trim()}`);
}

/** Runs one command of a build. Rejects with the reason if it fails, exceeds a limit, or is aborted. */
export async function runStep({ name, command, program }: Step, box: Box, build: Build): Promise<void> {
  const { signal, sandbox, log, hide, isFull } = build;
  if (signal.aborted) throw new Failure("it was ended");
  let outOfMemory = false;
  let lack: string | undefined;
  let notFound: string | undefined;
  let denied: string | undefined;
  let heard_at = monotonicNow();
  const advice = createAdviceReader();
  const reader = createLineReader((line) => {
    heard_at = monotonicNow();
    advice.read(line.message);
    build.engines.read(line.message);
    outOfMemory ||= tellsOfMemory(line.message);
    lack ??= lackIn(line.message);
    notFound = notFoundIn(line.message) ?? notFound;
    denied = deniedIn(line.message) ?? denied;
    log(line);
  }, hide);
  // Output beyond the log's limit is dropped, so the program is hardly slowed down.
  const child = sandbox.start(command, box, (chunk) => (isFull() ? pauseUnread(chunk) : reader.write(chunk)));
  let reason: string | undefined;
  const end = (why: string) => {
    reason ??= why;
    child.kill();
  };
  const stopListening = onAbort(signal, () => end("it was ended"));
  const stopWatching = watchSilence(name, { pid: child.pid, heard_at: () => heard_at, hide, log });
  const unwatch = watchLimits(reasonOf(child, build.limits), build, end);
  const { code, signal: by, passed } = await child.ended;
  unwatch();
  stopWatching();
  stopListening();
  reader.end();
  if (sandbox.name === "none") killStrays((of) => of.deployment_id === build.deployment_id && of.port === undefined);
  if (passed === "memory") reason ??= memoryReason(build.limits);
  if (reason !== undefined) throw new Failure(`${name} was ended: ${reason}`);
  if (by === "SIGXFSZ" || code === 128 + 25) throw new Failure(`${name} failed: it wrote a file larger than 1 GiB`);
  if (code === 0) return;
  // On a full disk, a build may fail before its bytes are counted.
  const tooMuch = await diskReason(build);
  if (tooMuch !== undefined) throw new Failure(`${name} was ended: ${tooMuch}`);
  const installing = installCommand(notFound ?? "");
  // A package script may also miss a program; its package manager then ends with the same code.
  if (notFound !== undefined && installing !== undefined && (notFound === program || code === 127))
    lack = lacking(notFound, installing);
  if (lack !== undefined) throw new Lacking(`${name} failed: ${lack}`);
  if (passed === "processes") throw new Failure(`${name} failed: ${processesReason}`);
  if (outOfMemory) throw new Failure(`${name} failed: ${memoryReason(build.limits)}`);
  const fault =
    code === 126 || code === 127 ? await programFault([command], (script) => printed(script, box, build)) : undefined;
  if (fault?.reason !== undefined) throw new Failure(`${name} failed: ${fault.reason}`);
  if (code === 126 && denied !== undefined) throw new Failure(`${name} failed: ${notExecutable(denied)}`);
  const why = code === 127 && notFound !== undefined ? `, the command ${notFound} was not found` : "";
  throw new Failure(
    `${name} failed with ${by ? `the signal ${by}` : `the exit code ${code}`}${why}: ${firstLine(command)}${advice.advice() || build.engines.advice() || (name === "Building" ? build.unset : "")}`,
  );
}
