import { existsSync } from "node:fs";
import { type ArgsDef, defineCommand } from "citty";
import { listen } from "../lib/http/server.ts";
import type { Service } from "../lib/index.ts";
import { machineTimer } from "../lib/kernel/clock.ts";
import { fromEnvironment, optionArgs, parseSwitch, requireKnown, UsageError } from "./arguments.ts";
import { banner } from "./banner.ts";
import { configuration, listenArgs, type Mode } from "./server-options.ts";
import { stopSignals } from "./signals.ts";

const serverArgs: ArgsDef = {
  ...listenArgs,
  json: { type: "boolean", description: "Write one JSON object a line to stdout, for programs." },
};

const only = (...names: string[]) =>
  Object.fromEntries(Object.entries(optionArgs).filter(([name]) => !names.includes(name)));

const command = (mode: Mode, description: string, args: ArgsDef) =>
  defineCommand({
    meta: { name: mode, description },
    args,
    setup: ({ rawArgs }) => requireKnown(rawArgs, args),
    run: ({ args: given }) => serve(mode, given),
  });

export const dev = command(
  "dev",
  "Run the emulator: in memory, on loopback, simulated, with a key printed and the control interface.",
  {
    ...serverArgs,
    ...only("create"),
  },
);
export const start = command("start", "Run the service for real, on a database file. Bare svc-server is this.", {
  ...serverArgs,
  ...optionArgs,
});

async function serve(mode: Mode, args: Readonly<Record<string, unknown>>): Promise<void> {
  const { options, notes, port, host, explained } = configuration(mode, args);
  const json = args.json ?? parseSwitch(fromEnvironment("SVC_JSON"), "SVC_JSON");
  if (!isLoopback(host) && options.publicUrl === undefined && !options.behindProxy) {
    throw new UsageError(
      `listening on ${host} reaches beyond this machine: name where people reach it with --public-url, or say --behind-proxy`,
    );
  }
  await requireFreePort(port, host);
  const { database = ":memory:" } = options;
  const isNew = database !== ":memory:" && !existsSync(database);
  const { beginService } = await import("../lib/service.ts");
  const { service, warnings } = await beginService(options, notes).catch((error: unknown) =>
    Promise.reject(explained(error)),
  );
  const { url } = await service.listen({ port, host });
  // Whoever reads that it listens may ask it to stop at once.
  const end = untilStopped(service);
  const shown = {
    url,
    base_url: `${url}/v1`,
    dashboard_url: null,
    api_key: service.apiKey,
  };
  say(
    json
      ? JSON.stringify({ event: "listening", ...shown })
      : banner({
          ...shown,
          mode,
          options,
          isNew,
          warnings,
          color: process.stdout.isTTY === true,
        }),
  );
  await end;
  if (json) say(JSON.stringify({ event: "stopped" }));
}

const isLoopback = (host: string) => /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|\[::1\])$/.test(host);

/** Tried before anything is made: a first start that cannot listen must not use up the key that is shown once. */
export async function requireFreePort(port: number, host: string): Promise<void> {
  try {
    await (await listen({ handle: () => {}, upgrade: () => {} }, { port, host })).close("0s");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      throw new Error(`port ${port} is in use; stop the program that holds it, or choose another one with --port`);
    }
    throw new Error(`cannot listen on ${host}, port ${port}: ${message}`);
  }
}

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** Resolves once the service has stopped as it was asked to; a second signal does not wait for that. */
function untilStopped(service: Service): Promise<void> {
  return new Promise((resolve, reject) => {
    let asked = false;
    const stop = (signal: NodeJS.Signals) => {
      // A terminal that is closed may say so twice: its shell does, and the system.
      if (asked && signal === "SIGHUP") return;
      if (asked) process.exit(1);
      asked = true;
      // Closing gives what is in flight ten seconds, and then hands the rest back: this is for a close that hangs.
      systemTimer("15s", () => resolve());
      service.close().then(resolve, reject);
    };
    for (const signal of stopSignals) process.on(signal, stop);
  });
}
