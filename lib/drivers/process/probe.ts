import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startChild } from "./child.ts";
import { bubblewrap, noSandbox, type Sandbox } from "./sandbox.ts";

/** Runs a command to its end; answers what it printed, and whether it went well. */
async function tryOut(command: Parameters<typeof startChild>[0]): Promise<{ ok: boolean; output: string }> {
  let output = "";
  const child = startChild(command, (chunk) => {
    if (output.length < 4096) output += chunk;
  });
  const { code } = await child.ended;
  return { ok: code === 0, output: output.trim().split("\n", 1)[0] ?? "" };
}

const plain = (file: string, ...args: string[]) => ({
  ...{ file, args, cwd: "/", isSandbox: false },
  env: { PATH: process.env["PATH"] ?? "" },
});

/**
 * The sandbox, tried out. Rejects with a sentence that says what is missing on this machine and how to get it; nothing is
 * run without isolation unless that was chosen by name.
 */
export async function probeSandbox(folder: string, isolation: Sandbox["name"]): Promise<Sandbox> {
  if (process.platform !== "linux") throw new Error(`the runtime process needs Linux, and this is ${process.platform}`);
  const git = await tryOut(plain("git", "--version"));
  if (!git.ok) throw new Error("the runtime process needs git; install it: apt-get install git");
  const tools = await tryOut(plain("setpriv", "--no-new-privs", "prlimit", "--core=0", "true"));
  if (!tools.ok)
    throw new Error("the runtime process needs setpriv and prlimit; install them: apt-get install util-linux");
  if (isolation === "none") return noSandbox;
  const app = join(folder, "probe");
  mkdirSync(app, { recursive: true });
  const sandbox = bubblewrap(folder);
  const { ok, output } = await tryOut(sandbox.command("node --version", { app, env: {}, memory_bytes: 1024 ** 3 }));
  if (ok) return sandbox;
  throw new Error(
    `bubblewrap does not work here (${output || "it ended without a word"}); install it (apt-get install bubblewrap) and allow user namespaces, or choose the option deployments.isolation "none", with which deployed code can read what this user can read`,
  );
}
