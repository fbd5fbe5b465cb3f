import { resolve } from "node:path";
import { type Form, type Runner, runners } from "../lib/dashboard/page/recorder/recorded-names.ts";
import { parseHttpUrl } from "../lib/drivers/outbound/target.ts";
import { isLoopbackHost } from "../lib/http/hosts.ts";
import { systemTimer } from "../lib/kernel/clock.ts";
import { refusalOf } from "../lib/kernel/text/refused-ports.ts";
import { parseWhole, pathIn, UsageError } from "./arguments.ts";
import { baseOf } from "./connection.ts";
import { command, flag, json, option } from "./define-command.ts";
import { counted, note, say } from "./output.ts";
import { openFiles, type Recording, recordingOf } from "./record/files.ts";
import { createRecorder, type Exchange } from "./record/recorder.ts";
import { openRelay } from "./record/relay.ts";
import { createStepRecorder } from "./record/steps.ts";
import { testOf } from "./record/test-of.ts";
import { portInUse } from "./serve.ts";
import { stopAsked } from "./signals.ts";

/** A killed recorder loses at most this much. */
const writeEvery = "2s";

const countsOf = ({ seed: { organizations }, scenarios }: Recording) => ({
  organizations: organizations.length,
  users: organizations.flatMap(({ users = [] }) => users).length,
  projects: organizations.flatMap(({ projects = [] }) => projects).length,
  webhooks: organizations.flatMap(({ webhooks = [] }) => webhooks).length,
  integrations: organizations.flatMap(({ integrations = [] }) => integrations).length,
  scenarios: scenarios.length,
});

function upstreamOf(given: unknown): string {
  if (given === undefined)
    throw new UsageError("record needs the service to record: --upstream https://svc.example.com/v1");
  const url = parseHttpUrl(String(given));
  if (url?.search !== "" || url.hash !== "")
    throw new UsageError(
      "option --upstream must be an http or https URL without credentials and query, such as https://svc.example.com/v1",
    );
  return baseOf(url.href);
}

function formOf(given: unknown, hasTimers: boolean): Form | undefined {
  if (given === undefined && hasTimers) throw new UsageError("option --timers needs --test with a test runner");
  if (given === undefined) return undefined;
  const runner = Object.keys(runners).find((name) => name.toLowerCase() === String(given).toLowerCase());
  if (runner === undefined)
    throw new UsageError(`option --test must be a test runner: ${Object.keys(runners).join(", ")}`);
  return { runner: runner as Runner, hasTimers };
}

/** Warns once per path about answers that are not JSON. */
function warnerOf(upstream: string) {
  const warned = new Set<string>();
  return ({ method, path, type = "no content type" }: Exchange) => {
    const place = `${method} /v1${path.split("?", 1)[0]}`;
    if (warned.has(place) || warned.size === 100) return;
    warned.add(place);
    note(
      `the upstream answered ${place} with ${type} instead of JSON, which was not recorded; is ${upstream} its base URL?`,
    );
  };
}

/** Writes the recording at once after a change, but at most once per `writeEvery`. */
function createWriter(save: () => void) {
  let stopTimer: (() => void) | undefined;
  let isBehind = false;
  let hasFailed = false;
  const changed = () => {
    if (stopTimer) {
      isBehind = true;
      return;
    }
    isBehind = false;
    try {
      save();
    } catch (error) {
      if (!hasFailed) note(`the recording could not be written and will be tried again: ${(error as Error).message}`);
      hasFailed = true;
    }
    stopTimer = systemTimer(writeEvery, () => {
      stopTimer = undefined;
      if (isBehind) changed();
    });
  };
  return { changed, stop: () => stopTimer?.() };
}

export const record = command(
  "record",
  "It forwards requests to the service, and writes its answers down without secrets; with --test, it also writes a test. Then svc-server dev --seed svc-recording/seed.json starts with the data of the account.",
  {
    upstream: option("The base URL of the service to record.", "URL"),
    out: option("The folder for seed.json, scenarios.json and recorded.test.mjs (./svc-recording).", "DIR"),
    test: option(
      "Also write recorded.test.mjs, a test that repeats the calls: for node:test, Vitest or Jest.",
      "RUNNER",
    ),
    timers: flag("Let the fake timers of the test runner move with the service in the test."),
    port: option("The port to listen on; 0 picks a free one (7500).", "N"),
    host: option("The loopback address to listen on (127.0.0.1).", "ADDRESS"),
    "keep-people": flag("Record names and e-mail addresses as they are. Without it they are replaced."),
    ...json,
  },
  async (args) => {
    const port = parseWhole("option --port", args["port"] as string | undefined, 65_535) ?? 7500;
    const host = String(args["host"] ?? "127.0.0.1");
    if (!isLoopbackHost(host))
      throw new UsageError(
        "option --host must be a loopback address: anybody who can reach the recorder can reach the upstream",
      );
    const form = formOf(args["test"], args["timers"] === true);
    const upstream = upstreamOf(args["upstream"]);
    const files = openFiles(resolve(pathIn(args, "out") ?? "svc-recording"), form !== undefined);
    const recorder = createRecorder();
    const steps = createStepRecorder();
    const keepsPeople = Boolean(args["keep-people"]);
    const recording = (): Recording =>
      recordingOf(recorder, keepsPeople, () => form && testOf(recorder, steps, keepsPeople, form));
    const writer = createWriter(() => files.write(recording()));
    const warnOf = warnerOf(upstream);
    const onExchange = (exchange: Exchange) => {
      try {
        if (!recorder.observe(exchange)) return warnOf(exchange);
        if (form) steps.observe(exchange);
      } catch (error) {
        note(`a ${exchange.method} request could not be recorded: ${(error as Error).message}`);
      }
      writer.changed();
    };
    const relay = await openRelay({ upstream, port, host, onExchange }).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "EADDRINUSE" ? new Error(portInUse(port)) : error;
    });
    const refusal = refusalOf(port, "--port");
    if (refusal) note(refusal);
    const asked = stopAsked();
    const base_url = `${relay.url}/v1`;
    say(
      args["json"]
        ? JSON.stringify({ event: "listening", url: relay.url, base_url, upstream, ...files.paths })
        : `Recording ${upstream}\n  call      ${base_url}, with your own key\n  seed      ${files.paths.seed}\n  scenarios ${files.paths.scenarios}${files.paths.test ? `\n  test      ${files.paths.test}` : ""}\nPress Ctrl+C to stop.`,
    );
    await asked;
    writer.stop();
    await relay.close();
    const result = recording();
    files.write(result);
    const counts = countsOf(result);
    for (const reason of result.left) note(`left out: ${reason}`);
    const sum = Object.entries(counts).map(([what, count]) => counted(count, what));
    say(
      args["json"]
        ? JSON.stringify({ event: "stopped", ...counts, left_out: result.left })
        : `Recorded ${sum.join(", ")}.`,
    );
  },
);
