import { type ArgsDef, defineCommand } from "citty";
import type { Options, Service } from "../lib/index.ts";
import { machineTimer } from "../lib/kernel/clock.ts";
import { fromEnvironment, numberOf, optionArgs, optionsOf, readJson, strict, Usage } from "./arguments.ts";
import { banner } from "./banner.ts";

const common: ArgsDef = {
  port: {
    type: "string",
    description: "The port to listen on; 0 picks a free one (7400).",
    valueHint: "N",
  },
  host: {
    type: "string",
    description: "The address to listen on (127.0.0.1).",
    valueHint: "ADDRESS",
  },
  config: {
    type: "string",
    description: "A JSON file of options, named as in createService(), with port and host. Flags win.",
    valueHint: "FILE",
  },
  json: {
    type: "boolean",
    description: "Write one JSON object a line to stdout, for programs.",
  },
};

const only = (...names: string[]) =>
  Object.fromEntries(Object.entries(optionArgs).filter(([name]) => !names.includes(name)));

/** What each command takes when nothing else is said. */
const modes = {
  dev: { mode: "dev", logLevel: "warn" },
  start: { mode: "start", database: "./svc-data", logLevel: "info" },
} as const satisfies Record<string, Options>;

const command = (mode: keyof typeof modes, description: string, args: ArgsDef) =>
  defineCommand({
    meta: { name: mode, description },
    args,
    setup: ({ rawArgs }) => strict(rawArgs, args),
    run: ({ args: given }) => serve(mode, { ...fromEnvironment(args), ...given }),
  });

export const dev = command(
  "dev",
  "Run the emulator: in memory, on loopback, simulated, with a key printed and the control interface.",
  {
    ...common,
    ...only("create"),
  },
);
export const start = command("start", "Run the service for real, on a database file. Bare svc-server is this.", {
  ...common,
  ...optionArgs,
});

async function serve(mode: keyof typeof modes, args: Readonly<Record<string, unknown>>): Promise<void> {
  const { port: filePort, host: fileHost, ...file } = args.config === undefined ? {} : fileOptions(String(args.config));
  const options: Options = {
    ...modes[mode],
    ...file,
    ...optionsOf(args),
    mode,
  };
  const port = numberOf("port", args.port as string | undefined, 65_535) ?? filePort ?? 7400;
  const host = (args.host as string | undefined) ?? fileHost ?? "127.0.0.1";
  if (!isLoopback(host) && options.publicUrl === undefined && !options.behindProxy) {
    throw new Usage(
      `listening on ${host} reaches beyond this machine: name where people reach it with --public-url, or say --behind-proxy`,
    );
  }
  await probe(port, host);
  const { createService } = await import("../lib/service.ts");
  const service = await createService(options);
  const { url } = await service.listen({ port, host });
  // Whoever reads that it listens may ask it to stop at once.
  const end = stopped(service);
  const shown = {
    url,
    base_url: `${url}/v1`,
    dashboard_url: null,
    api_key: service.apiKey,
  };
  say(
    args.json
      ? JSON.stringify({ event: "listening", ...shown })
      : banner({
          ...shown,
          mode,
          options,
          color: process.stdout.isTTY === true,
        }),
  );
  await end;
  if (args.json) say(JSON.stringify({ event: "stopped" }));
}

const isLoopback = (host: string) => /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|\[::1\])$/.test(host);

function fileOptions(path: string): Options & { port?: number; host?: string } {
  const given = readJson(path, "configuration");
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new Usage(`the configuration file ${path} must hold a JSON object of options`);
  const { port, host } = given as { port?: unknown; host?: unknown };
  if (port !== undefined && !(Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535))
    throw new Usage("option port must be a whole number from 0 to 65535");
  if (host !== undefined && typeof host !== "string") throw new Usage("option host must be a string");
  return given as Options & { port?: number; host?: string };
}

/** Tried before anything is made: a first start that cannot listen must not use up the key that is shown once. */
export async function probe(port: number, host: string): Promise<void> {
  const { listen } = await import("../lib/http/server.ts");
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
function stopped(service: Service): Promise<void> {
  return new Promise((resolve, reject) => {
    let asked = false;
    const stop = () => {
      if (asked) process.exit(1);
      asked = true;
      // Closing gives what is in flight ten seconds, and then hands the rest back: this is for a close that hangs.
      machineTimer("15s", () => resolve());
      service.close().then(resolve, reject);
    };
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
  });
}
