import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { systemTimer } from "../../kernel/clock.ts";
import { descendantsOf, signalProcess } from "./process-table.ts";

/** A command to start, as the sandbox wrote it. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Arguments that no other program may read, handed over on file descriptor 3, each ended by a NUL. */
  readonly hiddenArgs?: readonly string[];
  /** Whether its first child is the init process of a sandbox, which no signal may reach but the last one. */
  readonly isSandbox: boolean;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The whole sentence, where code and signal do not tell: `the container could not be started: …`. */
  readonly reason?: string;
}

/** A running command with all its processes. */
export interface Child {
  readonly pid: number | undefined;
  /** Resolves when the command has ended and nothing of its group is left; never rejects. */
  readonly ended: Promise<Ending>;
  /** How the command has ended; undefined while it runs. */
  readonly ending: Ending | undefined;
  /** Asks its processes to end, and kills them after the grace. */
  stop(grace_ms: number): Promise<Ending>;
  kill(): void;
}

/** Starts a command in a process group of its own. `take` gets its output, both streams in the order of arrival. */
export function startChild(command: Command, take: (chunk: Buffer) => void): Child {
  const { file, args, env, cwd, hiddenArgs } = command;
  const child = spawn(file, args, {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", hiddenArgs ? "pipe" : "ignore"],
  });
  const { pid } = child;
  handOver(child, hiddenArgs);
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", take);
    stream?.on("error", () => {});
  }
  let ending: Ending | undefined;
  const kill = () => {
    if (pid !== undefined) signalProcess(-pid, "SIGKILL");
  };
  const ended = new Promise<Ending>((resolve) => {
    child.once("error", (error) => {
      take(Buffer.from(`${file} cannot be started: ${error.message}\n`));
      ending = { code: 127, signal: null };
      resolve(ending);
    });
    child.once("exit", (code, signal) => {
      ending ??= { code, signal };
      // What its leader left behind in the group.
      kill();
      // A process that has left the group may hold the output open.
      systemTimer("300ms", () => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      });
    });
    child.once("close", () => resolve(ending ?? { code: null, signal: null }));
  });
  return {
    pid,
    ended,
    get ending() {
      return ending;
    },
    async stop(grace_ms) {
      if (ending || pid === undefined) return ended;
      for (const one of membersOf(pid, command.isSandbox)) signalProcess(one, "SIGTERM");
      const cancel = systemTimer(grace_ms, kill, { hold: true });
      return ended.finally(cancel);
    },
    kill,
  };
}

/**
 * Who is asked to end: the group, as at Ctrl+C in a terminal. In a sandbox that excludes the sandbox itself and its init
 * process, whose end would kill all others at once.
 */
function membersOf(pid: number, isSandbox: boolean): number[] {
  if (!isSandbox) return [-pid];
  const below = descendantsOf(pid);
  const init = below.find(({ parent }) => parent === pid)?.pid;
  return below.filter((one) => one.pid !== init && one.group === pid).map((one) => one.pid);
}

function handOver(child: ChildProcess, hiddenArgs: readonly string[] | undefined): void {
  const pipe = child.stdio[3] as (Readable & { end?: (text: string) => void }) | null | undefined;
  if (!hiddenArgs || !pipe?.end) return;
  pipe.on("error", () => {});
  pipe.end(hiddenArgs.map((one) => `${one}\0`).join(""));
}
