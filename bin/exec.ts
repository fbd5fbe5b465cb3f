import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { ArgsDef } from "citty";
import { EndedWith, optionArgs, requireKnown, UsageError, withRepeats } from "./arguments.ts";
import type { Command } from "./define-command.ts";
import { begin } from "./serve.ts";
import { configuration, listenArgs } from "./server-options.ts";
import { stopSignals } from "./signals.ts";

const args: ArgsDef = { config: listenArgs["config"] as ArgsDef[string], ...optionArgs("dev") };

/** The words after `--`. */
function commandIn(words: readonly string[]): [command: string, words: string[]] {
  const at = words.indexOf("--");
  const [command, ...rest] = at < 0 ? [] : words.slice(at + 1);
  if (!command) throw new UsageError("the command comes after --, such as: svc-server exec -- npm test");
  requireKnown(words.slice(0, at), args);
  return [command, rest];
}

export const exec: Command = {
  meta: {
    name: "exec",
    description:
      "The emulator starts before the command, and stops after it. The command gets SVC_URL and SVC_API_KEY. The options of dev come before the --.",
  },
  args,
  setup: ({ rawArgs }) => void commandIn(rawArgs),
  async run({ args: given, rawArgs }) {
    const host = "127.0.0.1";
    const { service } = await begin(configuration("dev", { ...withRepeats(given, rawArgs), port: "0", host }));
    try {
      const { url } = await service.listen({ port: 0, host });
      // An existing database showed its key at its first start and cannot show it again, so a new key is created.
      const key = service.apiKey ?? (await service.keys.create({ name: "svc-server exec" })).key;
      const code = await ended(commandIn(rawArgs), { SVC_URL: url, SVC_API_KEY: key });
      if (code !== 0) throw new EndedWith(code);
    } finally {
      await service.close();
    }
  },
};

/** Runs a command on this terminal and forwards signals to it. Resolves with its exit code. */
async function ended([command, words]: [string, string[]], variables: NodeJS.ProcessEnv): Promise<number> {
  const { no_proxy, NO_PROXY } = process.env;
  const direct = [...new Set([no_proxy, NO_PROXY, "127.0.0.1", "localhost"])].filter(Boolean).join(",");
  const child = spawn(command, words, {
    stdio: "inherit",
    // A profile would override the variables of the emulator. A proxy cannot reach the emulator.
    env: { ...process.env, ...variables, NO_PROXY: direct, no_proxy: direct, SVC_PROFILE: undefined },
    // On Windows, npm and similar commands are scripts that need a shell.
    shell: process.platform === "win32",
  });
  for (const signal of stopSignals) {
    process.on(signal, () => {
      // On Ctrl+C, the terminal also signals the command itself. Many programs end at once on a second signal.
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  const [code, signal] = (await once(child, "close").catch((error: NodeJS.ErrnoException) => {
    throw new EndedWith(
      error.code === "ENOENT" ? 127 : 126,
      error.code === "ENOENT" ? `${command} was not found` : `${command} cannot be run: ${error.message}`,
    );
  })) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + constants.signals[signal ?? "SIGTERM"];
}
