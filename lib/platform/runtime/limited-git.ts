import { spawn } from "node:child_process";
import { quoted } from "../../kernel/text/shell-words.ts";

/** The control group of git: the files that a process writes to join it. Empty until the runtime `process` makes it. */
export interface GitGroup {
  entries: readonly string[];
}

/** The memory limit of one git process, and of all in the group. Git writes packs to the disk as they arrive. */
export const gitMemory_bytes = 2 * 1024 ** 3;

/** Keeps large files out of memory: half a megabyte of a pack can hold a file of 500 MiB. */
export const gitMemorySettings = `[core]
	bigFileThreshold = 16m
`;

/** Starts git in its control group, with limits and without new rights. It ends with the server. */
export function startGit(args: readonly string[], env: NodeJS.ProcessEnv, group: GitGroup | undefined) {
  const limits = ["--no-new-privs", "--pdeathsig", "KILL", "--", "prlimit", `--data=${gitMemory_bytes}`, "--"];
  const words = ["setpriv", ...limits, "git", ...args];
  const joining = (group?.entries ?? []).map((file) => `echo 0 > ${quoted(file)}`);
  const script = [...joining, 'exec "$@"'].join("\n");
  const [file = "", ...rest] = joining.length === 0 ? words : ["sh", "-ec", script, "sh", ...words];
  const child = spawn(file, rest, { env, detached: true });
  child.stdin.on("error", () => {});
  return child;
}
