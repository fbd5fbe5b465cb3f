import { type ExecFileOptions, execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs a program to its end and returns its output. Rejects with the last words of a program that fails. */
export async function runProgram([file = "", ...args]: readonly string[], options?: ExecFileOptions): Promise<string> {
  try {
    const all = { cwd: "/", killSignal: "SIGKILL", maxBuffer: 64 * 1024 ** 2, ...options } as const;
    return String((await execute(file, args, all)).stdout);
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    throw new Error(stderr?.trim().slice(-1024) || message);
  }
}
