import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { compiled } from "./bundle.ts";
import type { ProcessUser } from "./child-processes.ts";
import { bearer } from "./headers.ts";

export const program = compiled("bin/svc-server.js");

/** A folder that is removed after the test. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-server-test-"));
  t.after(() => {
    try {
      // Programs and services that began later are still open, and may write a file meanwhile.
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    } catch (error) {
      // Without root, files of subordinate ids stay. Only the virtual machine of the box runs so, and it is removed.
      if (process.getuid?.() === 0 || (error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    }
  });
  return folder;
}

/** Runs the program until it exits. `more` sets environment variables, and stdin by `input`. */
export function run(
  words: readonly string[],
  cwd?: string,
  { input, ...env }: { readonly input?: string } & Readonly<Record<string, string>> = {},
  who: ProcessUser = {},
) {
  return spawnSync(process.execPath, [program, ...words], {
    encoding: "utf8",
    cwd,
    ...who,
    timeout: 60_000,
    env: { ...process.env, ...env },
    ...(input !== undefined && { input }),
  });
}

/** Starts the program. Returns its stdout lines, its first text on stderr, and its exit. `input` works as in `run`. */
export function stream(
  t: TestContext,
  words: readonly string[],
  { input = "", ...env }: { readonly input?: string } & Readonly<Record<string, string>>,
) {
  const child = spawn(process.execPath, [program, ...words], {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(input);
  t.after(() => void child.kill("SIGKILL"));
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  return {
    lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](),
    warned: once(child.stderr, "data").then(String),
    stop: (signal: NodeJS.Signals) => void child.kill(signal),
    ended: once(child, "close").then(([code]) => ({ code: code as number | null, errors })),
  };
}

interface LaunchOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: string;
  /** A command prefix that execs the program. */
  readonly within?: readonly string[];
  /** The user to run as, if it is not the test's. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/**
 * Starts the program with `--json` and resolves when it listens. `env` adds environment variables; `limits` are options
 * for the shell's `ulimit`.
 */
export async function launch(
  t: TestContext,
  words: readonly string[],
  cwd?: string,
  { env = {}, limits = "", within = [], user }: LaunchOptions = {},
) {
  const command = [process.execPath, program, ...words, "--json"];
  const shell = ["sh", "-c", `ulimit ${limits}; exec "$@"`, "sh"];
  const [file = "", ...rest] = [...within, ...(limits ? shell : []), ...command];
  const child = spawn(file, rest, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"], ...user });
  t.after(() => void child.kill("SIGKILL"));
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  // Not `exit`, which comes before the last of what it printed.
  const exited = once(child, "close");
  const first = await lines.next();
  if (first.done) throw new Error(`ended with ${await exited}: ${errors}`);
  const listening = JSON.parse(first.value as string) as {
    event: string;
    url: string;
    base_url: string;
    dashboard_url: string | null;
    api_key: string | null;
    apps_url: string | null;
  };
  return {
    ...listening,
    pid: child.pid,
    /** The program's stderr so far. */
    errors: () => errors,
    get: (path: string, key = listening.api_key) => fetch(listening.url + path, { headers: bearer(key) }),
    /** Stops the program. Returns the exit code and the rest of stdout. */
    async stop(signal: NodeJS.Signals = "SIGTERM") {
      child.kill(signal);
      const rest: string[] = [];
      for (let line = await lines.next(); !line.done; line = await lines.next()) rest.push(line.value);
      const [code] = await exited;
      return { code: code as number | null, rest };
    },
  };
}
