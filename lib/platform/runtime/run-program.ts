import { spawn } from "node:child_process";

const maxWords = 1024;

/** Runs a program to its end and returns its output. If it fails, rejects with its last error output. */
export function runProgram(
  [file = "", ...args]: readonly string[],
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const child = spawn(file, args, { cwd: "/", stdio: ["ignore", "pipe", "pipe"], signal, killSignal: "SIGKILL" });
  let [printed, said] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => {
    printed += chunk;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk).slice(-maxWords);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, killedBy) => {
      if (code === 0) resolve(printed);
      else reject(new Error(said.trim() || `${file} ended with ${killedBy ?? `the exit code ${code}`}`));
    });
  });
}
