import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { compiled } from "../helpers/bundle.ts";

/** The faults that the shim causes in a program: see `shim.c`. */
export interface Faults {
  /** The number of the call at which it is killed, or of the first call that fails. */
  readonly at?: number;
  readonly error?: "EIO" | "ENOSPC";
  readonly times?: number;
  /** The file in which the shim logs every call. */
  readonly log?: string;
  /** The file to which the shim writes the number of calls at the end. */
  readonly count?: string;
}

export interface Load {
  readonly seed: string;
  readonly writers: number;
  /** The projects that each writer makes; 0 for no limit. */
  readonly projects: number;
  readonly synchronous?: "FULL" | "NORMAL";
  readonly receiver?: string;
}

export interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly output: string;
}

/** The suite's folder, and functions that start its compiled programs. */
export interface Place {
  readonly folder: string;
  /** Starts the load on the database of each folder, all in one process. Faults affect only the first folder. */
  load(folders: readonly string[], load: Load, faults?: Faults): ChildProcess;
  /** Starts the command-line program. */
  program(words: readonly string[], faults?: Faults & { readonly folder: string }): ChildProcess;
}

export const databaseIn = (folder: string) => join(folder, "svc.db");

/** Compiles the shim with the machine's C compiler. Returns an error without a compiler or off Linux. */
function shimIn(folder: string): string | Error {
  if (process.platform !== "linux") return new Error("the shim needs Linux");
  const file = join(folder, "shim.so");
  try {
    execFileSync("cc", ["-O1", "-shared", "-fPIC", "-o", file, resolve("test/crash/shim.c"), "-ldl", "-lpthread"]);
    return file;
  } catch (error) {
    return new Error(`no C compiler makes the shim: ${(error as Error).message.split("\n", 1)[0]}`);
  }
}

/** Makes the place of a run; it is deleted when this process exits. */
export function createPlace(): Place & { readonly shim: string | Error } {
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "svc-crash-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const shim = shimIn(folder);
  const run = (file: string, words: readonly string[], faulty: string, faults: Faults | undefined) => {
    const { at, error, times, log, count } = faults ?? {};
    if (faults && shim instanceof Error) throw shim;
    const variables = {
      LD_PRELOAD: faults && String(shim),
      FAULT_FOLDER: faulty,
      FAULT_AT: at && String(at),
      FAULT_ERROR: error,
      FAULT_TIMES: times && String(times),
      FAULT_LOG: log,
      FAULT_COUNT: count,
    };
    const set = Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    return spawn(process.execPath, [compiled(file), ...words], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...(faults && Object.fromEntries(set)) },
    });
  };
  return {
    folder,
    shim,
    load(folders, { seed, writers, projects, synchronous = "FULL", receiver = "" }, faults) {
      const words = [seed, String(writers), String(projects), synchronous, receiver, ...folders.map(databaseIn)];
      return run("test/crash/load.child.js", words, folders[0] ?? "", faults);
    },
    program: (words, faults) => run("bin/svc-server.js", words, faults?.folder ?? "", faults),
  };
}

/** Resolves with all output of a program once it has ended. */
export async function ended(child: ChildProcess): Promise<Ended> {
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal, output };
}

/** The text of a file; empty if there is no file. */
export const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, "utf8") : "");
