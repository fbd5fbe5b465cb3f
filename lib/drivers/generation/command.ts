import { constants, type Stats } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { deadline } from "../../kernel/deadline.ts";
import { type Child, type Ending, startChild } from "../../kernel/node/child-process.ts";
import { killProcessesIn } from "../../kernel/node/process-table.ts";
import { hideValues } from "../../kernel/secrets/secret-values.ts";
import { formatDuration } from "../../kernel/text/duration.ts";
import { checkFile, failed, maxFile, progressIn } from "./backend-client.ts";
import type { GenerationDriver, GenerationWork, Progress } from "./contract.ts";

export interface CommandOptions {
  /** The program and its arguments, with `{prompt}`, `{width}`, `{height}`, `{seed}`, `{seconds}` and `{output}`. */
  readonly command: readonly string[];
  /** Additional variables besides PATH, HOME, LANG and TMPDIR. Their values never appear in messages. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeout_ms: number;
}

/** The grace period after SIGTERM. */
const grace_ms = 2_000;
/** How much program output is kept: enough for its last line. */
const keptOutput = 4096;
const endings = { png: "png", jpeg: "jpg", webp: "webp", mp4: "mp4" } as const;

/** Makes a prompt a safe argument. It must not look like an option or an options file, nor end the argument early. */
const asArgument = (prompt: string) => prompt.replaceAll("\0", " ").replace(/^(?=[-@])/, " ");

/** The arguments of a run. Each placeholder is replaced once, so placeholders inside a prompt stay unchanged. */
export function argumentsOf(command: readonly string[], work: GenerationWork, output: string): string[] {
  const values: Readonly<Record<string, string>> = {
    prompt: asArgument(work.prompt),
    width: String(work.width),
    height: String(work.height),
    seed: String(work.seed),
    seconds: String(work.duration_ms / 1000),
    output,
  };
  return command.map((argument) => argument.replace(/\{(\w+)\}/g, (given, name: string) => values[name] ?? given));
}

/** Reads the program's output file. It follows no links and reads no more than the limit. */
async function readOutput(path: string, kind: GenerationWork["kind"]): Promise<Progress> {
  let file: Awaited<ReturnType<typeof open>> | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats: Stats = await file.stat();
    if (!stats.isFile()) return failed("backend_failed", "the command wrote something else than a file at {output}");
    if (stats.size > maxFile)
      return failed("backend_failed", `the command's file has ${stats.size} bytes; at most ${maxFile} are allowed`);
    const checked = checkFile(await file.readFile(), kind);
    return checked.state === "failed"
      ? { ...checked, message: checked.message.replace("backend", "command") }
      : checked;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return failed("backend_failed", "the command ended without a file at {output}");
    if (code === "ELOOP")
      return failed("backend_failed", "the command wrote a link at {output}, which is not followed");
    throw error;
  } finally {
    await file?.close();
  }
}

interface Run {
  child?: Child;
  output: string;
  stopped?: "limit" | "interrupted";
}

/** The result of a run. Throws if it was interrupted: the service asks again, or the work was cancelled. */
function resultOf(
  run: Run,
  { code, signal, reason }: Ending,
  readFile: () => Promise<Progress>,
  timeout_ms: number,
): Promise<Progress> | Progress {
  if (run.stopped === "interrupted") throw new Error("the command was interrupted");
  if (run.stopped === "limit")
    return failed("backend_timeout", `the command did not end within ${formatDuration(timeout_ms)}, and was killed`);
  if (code === 0) return readFile();
  const lines = run.output.trimEnd().split(/[\r\n]+/);
  const line = lines.at(-1) ?? "";
  const how = reason ?? (signal ? `the command was ended by ${signal}` : `the command ended with ${code}`);
  return failed("backend_failed", `${how}${line && `: ${line.slice(-500)}`}`);
}

/**
 * Runs a program per generation, without a shell, in its own folder and process group. A run has no handle: after a
 * crash its remaining processes are killed and the program runs again.
 */
export function commandDriver(
  { command, env, timeout_ms }: CommandOptions,
  variables: Readonly<Record<string, string | undefined>> = process.env,
): GenerationDriver {
  const runs = new Map<string, Run>();
  const [program = "", ...template] = command;
  const file = program.includes("/") ? resolve(program) : program;
  const withoutSecrets = hideValues(Object.values(env));

  const environment = (folder: string): Record<string, string> => {
    const { PATH = "/usr/local/bin:/usr/bin:/bin", HOME = folder, LANG = "C.UTF-8" } = variables;
    return { PATH, HOME, LANG, TMPDIR: folder, ...env };
  };

  const stop = (run: Run, why: NonNullable<Run["stopped"]>) => {
    run.stopped ??= why;
    return run.child?.stop(grace_ms);
  };

  const execute = async (work: GenerationWork, run: Run, folder: string): Promise<Progress> => {
    killProcessesIn(folder);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    if (run.stopped) throw new Error("the command was interrupted");
    const output = join(folder, `output.${endings[work.format]}`);
    const args = argumentsOf(template, work, output);
    run.child = startChild({ file, args, env: environment(folder), cwd: folder, isSandbox: false }, (chunk) => {
      run.output = (run.output + chunk.subarray(-keptOutput).toString()).slice(-keptOutput);
      return 0;
    });
    const disarm = deadline(timeout_ms, () => void stop(run, "limit"));
    const ending = await run.child.ended.finally(disarm);
    // Some processes may have left the group during the run.
    killProcessesIn(folder);
    run.output = withoutSecrets(run.output);
    return resultOf(run, ending, () => readOutput(output, work.kind), timeout_ms);
  };

  return {
    delay: () => 0,

    async submit(work) {
      const run: Run = { output: "" };
      const folder = join(tmpdir(), `svc-${work.generation_id}`);
      runs.set(work.generation_id, run);
      try {
        return await execute(work, run, folder);
      } finally {
        if (runs.get(work.generation_id) === run) runs.delete(work.generation_id);
        await rm(folder, { recursive: true, force: true });
      }
    },

    poll: async () => failed("backend_failed", "a command has no handles to poll"),

    progressOf: ({ generation_id }) => progressIn(runs.get(generation_id)?.output ?? ""),

    async cancel({ generation_id }) {
      const run = runs.get(generation_id);
      if (run) await stop(run, "interrupted");
    },

    async close() {
      await Promise.all([...runs.values()].map((run) => stop(run, "interrupted")));
    },
  };
}
