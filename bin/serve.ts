import type { ArgsDef } from "citty";
import { mayBeReached, runsForReal } from "../lib/config/parse-options.ts";
import { isLoopbackHost } from "../lib/http/hosts.ts";
import { listen } from "../lib/http/server.ts";
import { createClock } from "../lib/kernel/clock.ts";
import { createLog } from "../lib/kernel/log.ts";
import { within } from "../lib/kernel/node/promises.ts";
import { standardErrorSink } from "../lib/kernel/node/standard-error.ts";
import { isMissing, withoutPassword } from "../lib/store/database-url.ts";
import { runningServer } from "../lib/store/sqlite/database-lock.ts";
import { fromEnvironment, optionArgs, parseSwitch, UsageError } from "./arguments.ts";
import { banner } from "./banner.ts";
import { command, flag } from "./define-command.ts";
import { hasColor, say, saySecret } from "./output.ts";
import { type Configuration, configuration, listenArgs, type Mode } from "./server-options.ts";
import { stopAsked } from "./signals.ts";

const serverArgs: ArgsDef = {
  ...listenArgs,
  json: flag("Print one JSON object per line to stdout, for programs."),
};

const serving = (mode: Mode, more: string) =>
  command(mode, more, { ...serverArgs, ...optionArgs(mode) }, (args) => serve(mode, args));

export const dev = serving(
  "dev",
  "Its work is simulated, and its clock, inbox and faults are yours to set. It prints an API key.",
);
export const start = serving("start", "svc-server without a command does the same.");

async function serve(mode: Mode, args: Readonly<Record<string, unknown>>): Promise<void> {
  const configured = configuration(mode, args);
  const { options, port, host } = configured;
  const json = args.json ?? parseSwitch(fromEnvironment("SVC_JSON"), "SVC_JSON");
  // Before ports are opened, so an occupied port does not hide an invalid option.
  const settings = configured.settings();
  if (!isLoopbackHost(host) && !mayBeReached(settings)) {
    const network = mode === "dev" ? ", or --trust-network for a network of containers" : "";
    throw new UsageError(
      `${host} can be reached from other machines; set --public-url, or --behind-proxy if a proxy is in front of it${network}`,
    );
  }
  const { database } = settings;
  const apps = runsForReal(settings) ? settings.apps : undefined;
  await requireFreePort(port, host, database);
  if (apps) await requireFreePort(apps.port, options.apps?.host ?? host, database, "--apps-port");
  const isNew = database !== ":memory:" && isMissing(database);
  const { service, warnings, runtime, protections } = await begin(configured, host);
  const { url } = await service.listen({ port, host });
  // Signals must be handled before this line is printed, because a supervisor may stop the service as soon as it reads
  // the line.
  const asked = stopAsked();
  const address = {
    url,
    base_url: `${url}/v1`,
    dashboard_url: options.dashboard === false ? null : `${settings.publicUrl ?? url}/dashboard`,
    api_key: service.apiKey,
    apps_url: service.appsUrl,
  };
  const remedy =
    isNew && address.api_key
      ? `the new API key is lost. Create another with svc-server keys create --database ${withoutPassword(database)}`
      : `the service is at ${url}`;
  // The service keeps running if the text cannot be printed.
  saySecret(
    json
      ? JSON.stringify({ event: "listening", ...address })
      : banner({
          ...address,
          runtime,
          protections,
          mode,
          options,
          isNew,
          warnings,
          color: hasColor(process.stdout),
        }),
    remedy,
  ).catch(({ message }) => createLog("error", standardErrorSink(createClock("real").iso)).error(message));
  await asked;
  // close() gives running work ten seconds. This limit covers a close that hangs.
  await within("15s", service.close(), undefined);
  if (json) say(JSON.stringify({ event: "stopped" }));
}

/**
 * Starts a service. An option error names the flag, variable or file that set it. Unless apps have their own host, they
 * listen on the same host.
 */
export async function begin({ options, notes, explainedError }: Configuration, host = "127.0.0.1") {
  const { beginService } = await import("../lib/service.ts");
  return beginService({ ...options, apps: { host, ...options.apps } }, notes).catch((error: unknown) =>
    Promise.reject(explainedError(error)),
  );
}

/**
 * Checks the port before the database is created: a first start that cannot listen must not use up the key, which is
 * shown only once.
 */
async function requireFreePort(port: number, host: string, database: string, flag = "--port"): Promise<void> {
  if (await isPortFree(port, host)) return;
  const server = runningServer(database);
  throw new Error(
    server
      ? `port ${port} is in use, and ${server} is already running on the database ${database}; stop it first`
      : portInUse(port, flag),
  );
}

export const portInUse = (port: number, flag = "--port") =>
  `port ${port} is in use; choose another port with ${flag} (0 picks a free one), or stop the program that uses it`;

/** Whether this process can listen there; false if the port is occupied. Rejects on any other error. */
export async function isPortFree(port: number, host: string): Promise<boolean> {
  try {
    await (await listen({ handle: () => {}, upgrade: () => {} }, { port, host })).close("0s");
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") return false;
    throw new Error(`cannot listen on ${host}, port ${port}: ${message}`);
  }
}
