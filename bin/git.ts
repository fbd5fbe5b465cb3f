import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

interface GitOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Settings that override the fixed ones. With undefined, the setting of the user or the repository applies. */
  readonly config?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
  readonly line?: (text: string) => void;
}

export type Git = ReturnType<typeof createGit>;

/**
 * The variables of the user's environment that git receives: those for network access. Other variables could point to
 * another repository.
 */
const kept = /^GIT_(SSL|CURL|TRACE|HTTP_|PROXY|EXEC_PATH)/;

/** Overrides user settings that would change the deployed files, prompt, or run programs. */
const fixed: Readonly<Record<string, string>> = {
  "core.hooksPath": "/dev/null",
  "core.autocrlf": "false",
  "core.safecrlf": "false",
  "core.fsmonitor": "false",
  "credential.helper": "",
  "push.gpgSign": "false",
  "push.followTags": "false",
  "push.recurseSubmodules": "no",
  "http.followRedirects": "false",
  "gc.auto": "0",
};

/** Runs git with its own repository in a scratch folder, so the user's repository is not modified. */
export function createGit(scratch: string) {
  const base = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name, value]) => value !== undefined && (!name.startsWith("GIT_") || kept.test(name)),
    ),
  ) as Record<string, string>;

  return async (words: readonly string[], { env = {}, config = {}, input = "", line }: GitOptions = {}) => {
    const settings = Object.entries({ ...fixed, ...config }).filter(([, value]) => value !== undefined);
    const variables: Record<string, string> = { GIT_CONFIG_COUNT: String(settings.length) };
    for (const [i, [name, value]] of settings.entries()) {
      variables[`GIT_CONFIG_KEY_${i}`] = name;
      variables[`GIT_CONFIG_VALUE_${i}`] = value ?? "";
    }
    const child = spawn("git", words, {
      env: {
        ...base,
        LC_ALL: "C",
        GIT_TERMINAL_PROMPT: "0",
        GIT_OPTIONAL_LOCKS: "0",
        GIT_DIR: scratch,
        ...variables,
        ...env,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    let stdout = "";
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk;
    });
    const lines = createInterface({ input: child.stderr });
    lines.on("line", (text) => {
      said = `${said}${text}\n`.slice(-8192);
      line?.(text);
    });
    const code = await new Promise<number>((done, fail) => {
      child.once("error", ({ message }) =>
        fail(
          new Error(
            `svc-server deploy needs git, which cannot be started (${message}); install it: apt-get install git`,
          ),
        ),
      );
      child.once("close", (ended) => done(ended ?? 1));
    });
    return { code, said, stdout };
  };
}
