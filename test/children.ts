import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { compiled } from "./bundle.ts";

const childFile = compiled("test/store/crash.child.js");

/** A server in a process of its own, and the lines that it prints. */
export interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  readonly lines: AsyncIterable<string>;
}

export type Command = "hold" | "key" | "write" | "deadly" | "announce" | "climb" | "paint" | "remove";

/** Whom a child runs as: root may write everywhere, so tests of what is read-only run as nobody. */
export interface Who {
  readonly uid?: number;
  readonly gid?: number;
}

export async function startChild(file: string, command: Command, who: Who = {}, word = ""): Promise<Child> {
  const process_ = spawn(process.execPath, [childFile, file, command, word], { cwd: "/", ...who });
  process_.stderr.pipe(process.stderr);
  return { process: process_, lines: createInterface({ input: process_.stdout }) };
}

/** All lines until the process is gone; `stop` is asked at each one whether the process is to be killed upon it. */
export async function linesOf({ process, lines }: Child, stop: (line: string, count: number) => boolean) {
  const seen: string[] = [];
  for await (const line of lines) {
    seen.push(line);
    if (stop(line, seen.length)) process.kill("SIGKILL");
  }
  return seen;
}

/** Runs a child that may write no byte into any file, so that its first try to do so ends it. */
export async function withoutRoom(file: string, command: Command): Promise<void> {
  const limited = 'ulimit -f 0; exec "$0" "$@"';
  const child = spawn("sh", ["-c", limited, process.execPath, childFile, file, command], { stdio: "ignore" });
  await once(child, "exit");
}

/** Starts a child that opens the file and ends at once; answers what it said. */
export async function tryOpening(file: string, who: Who = {}): Promise<string> {
  const child = await startChild(file, "hold", who);
  child.process.stdin.end();
  return (await linesOf(child, () => false)).at(-1) ?? "nothing";
}

/** A child that holds the file, once it does. */
export async function holding(file: string): Promise<Child & { readonly pid: number }> {
  const child = await startChild(file, "hold");
  for await (const line of child.lines) {
    if (line.startsWith("ready")) return { ...child, pid: Number(line.split(" ")[1]) };
    if (line.startsWith("refused")) throw new Error(line);
  }
  throw new Error("the child ended before it was ready");
}

/** Kills a child without a word, and resolves when it is gone. */
export async function kill({ process }: Child): Promise<void> {
  const gone = once(process, "exit");
  process.kill("SIGKILL");
  await gone;
}
