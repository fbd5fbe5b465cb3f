import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { compiled } from "./bundle.ts";

const childFile = compiled("test/store/crash.child.js");

/** A server in its own process, with its output lines. */
export interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  readonly lines: AsyncIterable<string>;
}

export type Command =
  | "hold"
  | "key"
  | "write"
  | "deadly"
  | "announce"
  | "climb"
  | "order"
  | "invite"
  | "paint"
  | "remove";

/** The user of a child process. Root may write everywhere, so tests of read-only files run as nobody. */
export interface ProcessUser {
  readonly uid?: number;
  readonly gid?: number;
}

export async function startChild(file: string, command: Command, who: ProcessUser = {}, word = ""): Promise<Child> {
  const process_ = spawn(process.execPath, [childFile, file, command, word], { cwd: "/", ...who });
  process_.stderr.pipe(process.stderr);
  return { process: process_, lines: createInterface({ input: process_.stdout }) };
}

/** Reads all lines until the process ends. Kills the process at the first line for which `stop` returns true. */
export async function linesOf({ process, lines }: Child, stop: (line: string, count: number) => boolean) {
  const seen: string[] = [];
  for await (const line of lines) {
    seen.push(line);
    if (stop(line, seen.length)) process.kill("SIGKILL");
  }
  return seen;
}

/** Runs a child that cannot write to any file, so its first write ends it. */
export async function runOnFullDisk(file: string, command: Command): Promise<void> {
  const limited = 'ulimit -f 0; exec "$0" "$@"';
  const child = spawn("sh", ["-c", limited, process.execPath, childFile, file, command], { stdio: "ignore" });
  await once(child, "exit");
}

/** Starts a child that opens the file and exits at once; returns its output. */
export async function openOnce(file: string, who: ProcessUser = {}): Promise<string> {
  const child = await startChild(file, "hold", who);
  child.process.stdin.end();
  return (await linesOf(child, () => false)).at(-1) ?? "nothing";
}

/** Resolves with a child process that holds the file open. */
export async function startHolder(file: string): Promise<Child & { readonly pid: number }> {
  const child = await startChild(file, "hold");
  for await (const line of child.lines) {
    if (line.startsWith("ready")) return { ...child, pid: Number(line.split(" ")[1]) };
    if (line.startsWith("refused")) throw new Error(line);
  }
  throw new Error("the child ended before it was ready");
}

/** Kills a child with SIGKILL and resolves when it has ended. */
export async function kill({ process }: Child): Promise<void> {
  const gone = once(process, "exit");
  process.kill("SIGKILL");
  await gone;
}
