import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readdirSync, readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { systemTimer } from "../clock.ts";
import { descriptorLimit } from "./descriptors.ts";
import { descendantsOf, idsOf, signalProcess } from "./process-table.ts";

export type Passed = "memory" | "processes";

/** A control group: counts all that its processes use, also shared memory, and processes that left their group. */
export interface Group {
  /** A process joins the group by writing 0 into these files. */
  readonly entries: readonly string[];
  /** The limit that its processes have reached. Memory comes first because it kills them. */
  passed(): Passed | undefined;
  /** Kills the remaining processes and removes the group. */
  remove(): Promise<void>;
}

/** A command to start, as the sandbox built it. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Arguments that other programs must not read. They are passed on file descriptor 3, each terminated by NUL. */
  readonly hiddenArgs?: readonly string[];
  /** Whether it creates a sandbox with its own processes, which then receive the signals. */
  readonly isSandbox: boolean;
  /** Limits the command's processes. It is removed after the command ends. */
  readonly group?: Group | undefined;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of a sentence that explains more than code and signal: `could not be started: …`. */
  readonly reason?: string;
  readonly passed?: Passed | undefined;
  /** Whether it wrote files in its container, which were deleted with it. */
  readonly leftFiles?: boolean;
}

export interface Child {
  readonly pid: number | undefined;
  /** Resolves when the command and its process group have ended. Never rejects. */
  readonly ended: Promise<Ending>;
  /** How the command ended; undefined while it runs. */
  readonly ending: Ending | undefined;
  /** The limit of its group that it has reached so far; undefined without a group. */
  readonly passed?: () => Passed | undefined;
  /** Asks its processes to end, and kills them after the grace period. */
  stop(grace_ms: number): Promise<Ending>;
  kill(): void;
}

/** Receives a command's output. Returns for how many milliseconds reading should pause. */
export type TakeOutput = (chunk: Buffer) => number;

/** A command that writes too fast has to wait. After it has ended, `drain` reads the rest without pauses. */
function readOutput({ stdout, stderr }: ChildProcess, take: TakeOutput): { drain(): void; destroy(): void } {
  const streams = [stdout, stderr].filter((stream) => stream !== null);
  let isPaused = false;
  let isDraining = false;
  const resume = () => {
    isPaused = false;
    for (const stream of streams) stream.resume();
  };
  for (const stream of streams) {
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => {
      const wait_ms = take(chunk);
      if (wait_ms < 1 || isPaused || isDraining) return;
      isPaused = true;
      for (const one of streams) one.pause();
      systemTimer(wait_ms, resume);
    });
  }
  return {
    drain() {
      isDraining = true;
      resume();
    },
    destroy() {
      for (const stream of streams) stream.destroy();
    },
  };
}

const closesOnExec = 0o2000000;

/** A child would inherit the descriptors that this process got at its start. Read once, because it is slow. */
function findReplacements(): (number | "ignore")[] {
  // A descriptor above a limit that was lowered later cannot be replaced.
  const limit = descriptorLimit();
  const inherited = readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => {
      try {
        if (fd >= limit) return false;
        const [, flags = "0"] = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1")) ?? [];
        return fd > 3 && (Number.parseInt(flags, 8) & closesOnExec) === 0;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return false; // It has been closed.
        throw error;
      }
    });
  if (inherited.length === 0) return [];
  const nothing = openSync("/dev/null", "r+");
  const places: (number | "ignore")[] = Array(Math.max(...inherited) - 3).fill("ignore");
  for (const fd of inherited) places[fd - 4] = nothing;
  return places;
}

let replacements: readonly (number | "ignore")[] | undefined;

/** Says why a command could not be started. It ends with the shell's exit code for an unknown program. */
function notStarted(file: string, take: TakeOutput, { message }: Error): Ending {
  take(Buffer.from(`${file} cannot be started: ${message}\n`));
  return { code: 127, signal: null };
}

function endedAtOnce(ending: Ending, group: Group | undefined): Child {
  const ended = Promise.resolve(group?.remove()).then(() => ending);
  return { pid: undefined, ended, ending, stop: () => ended, kill: () => {} };
}

/** Starts a command in a process group. Never throws: a command may be too long for the kernel, or hold a NUL. */
export function startChild(command: Command, take: TakeOutput): Child {
  const { file, args, env, cwd, hiddenArgs, group } = command;
  let child: ChildProcess;
  try {
    replacements ??= findReplacements();
    child = spawn(file, args, {
      cwd,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe", hiddenArgs ? "pipe" : "ignore", ...replacements],
    });
  } catch (error) {
    return endedAtOnce(notStarted(file, take, error as Error), group);
  }
  const { pid } = child;
  handOver(child, hiddenArgs);
  const output = readOutput(child, take);
  let ending: Ending | undefined;
  let isAsked = false;
  const kill = () => {
    if (pid !== undefined) signalProcess(-pid, "SIGKILL");
  };
  const ended = new Promise<Ending>((resolve) => {
    child.once("error", (error) => {
      ending = notStarted(file, take, error);
      resolve(ending);
      void group?.remove();
    });
    child.once("exit", (code, signal) => {
      ending ??= { code, signal, passed: group?.passed() };
      // Kills remaining processes of the group.
      kill();
      output.drain();
      // A process outside the group may keep the output open.
      systemTimer("300ms", output.destroy);
    });
    child.once("close", () => {
      const how = ending ?? { code: null, signal: null };
      void Promise.resolve(group?.remove()).then(() => resolve(how));
    });
  });
  return {
    pid,
    ended,
    get ending() {
      return ending;
    },
    ...(group && { passed: group.passed }),
    async stop(grace_ms) {
      if (ending || pid === undefined) return ended;
      // At a second signal, some programs end without finishing their work.
      const members = isAsked ? [] : membersOf(pid, command.isSandbox);
      for (const one of members) signalProcess(one, "SIGTERM");
      isAsked ||= members.length > 0;
      const cancel = systemTimer(grace_ms, kill, { hold: true });
      return ended.finally(cancel);
    },
    kill,
  };
}

/** The group, as with Ctrl+C. In a sandbox, all but its first process, whose end would kill the others at once. */
function membersOf(pid: number, isSandbox: boolean): number[] {
  if (!isSandbox) return [-pid];
  const inside = (one: number) => {
    const [, own] = idsOf(one);
    return own !== undefined && own !== 1;
  };
  return descendantsOf(pid).flatMap((one) => (one.group === pid && inside(one.pid) ? [one.pid] : []));
}

function handOver(child: ChildProcess, hiddenArgs: readonly string[] | undefined): void {
  const pipe = child.stdio[3] as (Readable & { end?: (text: string) => void }) | null | undefined;
  if (!hiddenArgs || !pipe?.end) return;
  pipe.on("error", () => {});
  pipe.end(hiddenArgs.map((one) => `${one}\0`).join(""));
}
