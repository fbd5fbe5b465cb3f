import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deadline } from "../../kernel/deadline.ts";
import { signalProcess } from "../../kernel/node/process-table.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import { type GitGroup, gitMemorySettings, startGit } from "./limited-git.ts";
import { onAbort } from "./pause.ts";

/** Where repositories come from. */
export interface CodeHost {
  /** `https://github.com/{repo}.git`. */
  readonly url: string;
  readonly token?: string | undefined;
  /** A folder of repositories on this machine that replaces the URL. */
  readonly repos?: string | undefined;
  /** The folder of a repository that the service hosts, if it has the commit. It takes precedence over the code host. */
  readonly own?: (
    of: { readonly organization_id: string; readonly repo: string },
    commit: string | null,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
  /** Whether an organization may fetch a repository with the operator's credential. */
  readonly mayFetch?: ((organization_id: string, repo: string) => Promise<boolean>) | undefined;
}

export interface GitResult {
  readonly ok: boolean;
  /** Whether it was aborted, so a retry would end the same way. */
  readonly wasEnded: boolean;
  readonly stdout: string;
  readonly reason: string;
}

export interface GitOptions {
  readonly signal: AbortSignal;
  readonly timeout: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Credential {
  /** Whether to use the operator's credential at the code host: a token, or the ssh key of the server's user. */
  readonly usesCredential?: boolean;
}

/** Environment variables of the server that git may need to reach the code host. */
const passed = /^(https?_proxy|no_proxy|all_proxy|SSL_CERT_(FILE|DIR)|SSH_AUTH_SOCK)$/i;
const maxOutput = 1024 * 1024;

/**
 * Git reads only these settings: hooks never run, and only the code host's protocol is allowed. In a file, because the
 * second git process of a local repository would not see `-c`.
 */
const config = (scheme: string) => `[safe]
	directory = *
[core]
	hooksPath = /dev/null
	fsmonitor = false
[protocol]
	allow = never
[protocol "${scheme}"]
	allow = always
[http]
	followRedirects = false
	lowSpeedLimit = 1000
	lowSpeedTime = 30
[uploadpack]
	# Of a repository of this service, for a commit that no branch has any more.
	allowAnySHA1InWant = true
[gc]
	auto = 0
[maintenance]
	auto = false
[fetch]
	recurseSubmodules = false
	# A pack is written to the disk as it comes; few and large objects would be unpacked in memory.
	unpackLimit = 1
[advice]
	detachedHead = false
${gitMemorySettings}`;

/** Runs git without a shell, with these settings, in an environment that contains only what is set here. */
export function createGitCommand(folder: string, settings: string, group?: GitGroup) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, "settings");
  writeFileSync(file, settings);
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: file,
    // A push may name replacements (refs/replace), and a commit that replaces itself would stop all later pushes.
    GIT_NO_REPLACE_OBJECTS: "1",
  };
  return {
    env,
    group,
    git: (args: readonly string[], options: GitOptions) => run(args, { ...env, ...options.env }, options, group),
  };
}
export type GitCommand = ReturnType<typeof createGitCommand>;

/** Runs git for repositories of a code host. */
export function createFetchCommand(folder: string, { url, token, repos }: CodeHost, group?: GitGroup) {
  const scheme = repos === undefined ? (/^[a-z]+/.exec(url)?.[0] ?? "https") : "file";
  const { git } = createGitCommand(folder, config(scheme), group);
  const env: Record<string, string> = {
    // An ssh key is in the home folder of the server's user.
    ...(scheme === "ssh" && { HOME: process.env["HOME"] ?? folder }),
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    GIT_PROTOCOL_FROM_USER: "0",
    GIT_LFS_SKIP_SMUDGE: "1",
  };
  for (const [name, value] of Object.entries(process.env))
    if (passed.test(name) && value !== undefined) env[name] = value;
  const ssh = "ssh -o BatchMode=yes";
  const anonymous = { GIT_SSH_COMMAND: `${ssh} -o PreferredAuthentications=none` };
  const credential: Record<string, string> = { GIT_SSH_COMMAND: ssh };
  if (token !== undefined && /^https?:/.test(url)) {
    // In the environment, so other users of the machine cannot read it.
    credential["GIT_CONFIG_COUNT"] = "1";
    credential["GIT_CONFIG_KEY_0"] = `http.${new URL(url.replaceAll("{repo}", "a/b")).origin}/.extraHeader`;
    credential["GIT_CONFIG_VALUE_0"] =
      `Authorization: Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
  }
  return (args: readonly string[], options: GitOptions & Credential) =>
    git(args, { ...options, env: { ...env, ...(options.usesCredential ? credential : anonymous), ...options.env } });
}

function run(
  args: readonly string[],
  env: Record<string, string>,
  options: GitOptions,
  group: GitGroup | undefined,
): Promise<GitResult> {
  const { signal, timeout } = options;
  if (signal.aborted) return Promise.resolve({ ok: false, wasEnded: true, stdout: "", reason: "it was ended" });
  const child = startGit(args, env, group);
  child.stdin.end();
  const kill = () => {
    if (child.pid !== undefined) signalProcess(-child.pid, "SIGKILL");
  };
  let late = false;
  const cancel = deadline(milliseconds(timeout), () => {
    late = true;
    kill();
  });
  const stopListening = onAbort(signal, kill);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    if (stdout.length < maxOutput) stdout += chunk;
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk).slice(-4096);
  });
  return new Promise((resolve) => {
    const end = (code: number | null, problem?: string) => {
      cancel();
      stopListening();
      const reason = late ? `git took longer than ${timeout}` : (problem ?? reasonIn(stderr));
      resolve({ ok: code === 0 && !late, wasEnded: late || signal.aborted, stdout, reason });
    };
    child.once("error", ({ message }) => end(null, `git cannot be started: ${message}`));
    child.once("close", (code, killed) =>
      end(
        code,
        killed === "SIGKILL" && !signal.aborted
          ? "git was killed, probably because it took too much memory"
          : undefined,
      ),
    );
  });
}

/** The line of git's output with the actual error. Hints and progress are less useful. */
function reasonIn(stderr: string): string {
  const lines = stderr.split(/[\r\n]+/).filter((line) => line.trim() !== "");
  const line =
    lines.find((one) => /^(fatal|error|remote: fatal):/.test(one)) ?? lines.at(-1) ?? "git ended without a message";
  return line.replace(/^(remote: )?(fatal|error): /, "");
}
