import { run as command } from "../../bin/main.ts";
import { within } from "./cli-refusals.ts";

/**
 * Runs a command in this process. `run` of `program.ts` starts a new process, which costs a fifth of a second. Captures
 * text output; the test runner's own messages are bytes and pass through. Only for commands that end by themselves and
 * do not read stdin.
 */
export async function runHere(
  words: readonly string[],
  cwd = process.cwd(),
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly stdout: string; readonly stderr: string }> {
  const before = process.cwd();
  const written = { stdout: "", stderr: "" };
  const caught = (["stdout", "stderr"] as const).map((name) => {
    const { write } = process[name];
    process[name].write = ((chunk: unknown, ...more: never[]) => {
      if (typeof chunk !== "string") return write.call(process[name], chunk as Uint8Array, ...more);
      written[name] += chunk;
      (more.at(-1) as (() => void) | undefined)?.();
      return true;
    }) as typeof write;
    return () => {
      process[name].write = write;
    };
  });
  process.chdir(cwd);
  try {
    const { code, message = "" } = await within(env, () => command(words));
    return { status: code, stdout: written.stdout, stderr: written.stderr + message };
  } finally {
    process.chdir(before);
    for (const end of caught) end();
  }
}
