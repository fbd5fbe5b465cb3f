import type { Crash, Instance, LogLine } from "../../drivers/deployment/contract.ts";
import type { Child, Ending } from "../../kernel/node/child-process.ts";
import type { ProcessEntry } from "../../kernel/node/process-table.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { Unhealthy } from "./failure.ts";
import { freePort, waitUntilHealthy } from "./health.ts";
import { tellsOfMemory } from "./lines.ts";
import { type Listener, watchPorts } from "./listening-ports.ts";
import { createOutput } from "./output.ts";
import { backoff_ms, createArrival, onAbort, pause, stable_ms } from "./pause.ts";
import type { Run } from "./task.ts";
import { type createWorkers, endBeyondMemory, type Workers } from "./workers.ts";

/** `port` is the port of 127.0.0.1 that leads to the app; `inside` is the app's variable PORT. */
export interface Ports {
  readonly port: number;
  readonly inside: number;
  /** Whether the app listens at ::1 alone, and therefore needs a relay. */
  readonly isOnlyIpv6: boolean;
}

export interface Program {
  readonly deployment_id: string;
  start(ports: Ports, take: (line: LogLine) => void): Child;
  /** The app's listening port if it ignores PORT. */
  readonly port?: number;
  /** The ports on which it listens. Set only if the app can choose them itself. */
  readonly listening?: (child: Child) => readonly Listener[];
  /** Returns a function that tells, after the end of the program, whether files that it wrote were lost. */
  readonly layerOf?: (child: Child) => () => boolean;
  /** Extends the reason of a failed start, based on the last output lines. */
  readonly explain?: (ending: Ending | undefined, printed: readonly LogLine[]) => string;
  /** A program that an earlier process started. It is taken over; `start` is called after it ends. */
  readonly running?: { readonly port: number; adopt(take: (line: LogLine) => void): Child };
  readonly health: string | null;
  /** The URL for visitors; null if there is none. */
  readonly url: string | null;
  /** The reason to report if the port refuses a connection or closes it at once. */
  readonly refusal: (inside: number) => string;
  readonly healthTimeout_ms: number;
  readonly memory_bytes: number;
  /** The workers, which start once the app accepts requests. */
  readonly workers?: (tell: Pick<Parameters<typeof createWorkers>[1], "output" | "crashed">) => Workers;
  readonly onStopped: () => void;
}

/** Another program may take the port between its choice and the start, so several ports are tried. */
const portsTried = 3;

const describe = ({ code, signal, reason }: Ending) =>
  `the app ${reason ?? `ended ${signal ? `by the signal ${signal}` : `with the exit code ${code}`}`}`;
const portTakenWords = /EADDRINUSE|address already in use|port( \d+)? (is|was) already (in use|allocated)/i;

export type AppInstance = Instance & {
  checkMemory(all: () => readonly ProcessEntry[]): void;
};

/** Starts a program and keeps it running. Resolves once it is healthy; rejects if it never becomes healthy. */
export async function startApp(program: Program, { log, signal }: Pick<Run, "log" | "signal">): Promise<AppInstance> {
  const app = createApp(program, signal);
  let reason: string | undefined = "";
  try {
    reason = await app.begin(log, log);
  } finally {
    if (reason !== undefined) app.giveUp();
  }
  if (reason === undefined) return app.instance;
  const silent: LogLine = { level: "info", message: "The app printed nothing" };
  const cause = app.hasPrinted() ? undefined : [silent];
  throw new Unhealthy(`the health check failed: ${reason}`, { cause, crash: app.crash() });
}

function createApp(program: Program, signal: AbortSignal) {
  const output = createOutput();
  let takeCrash = (_: Crash) => {};
  const crashed = (crash: Crash) => takeCrash(crash);
  const workers = program.workers?.({ output: output.add, crashed });
  const stopping = new AbortController();
  const giveUp = onAbort(signal, () => stopping.abort());
  /** Holds requests until the app accepts them again. */
  let arrival = createArrival();
  let child: Child | undefined;
  let running = program.running;
  let port: number | undefined;
  /** The port that the app itself chose, once it is known. */
  let own = program.port;
  let isOnlyIpv6 = false;
  /** How the last process ended by itself; undefined if the service stopped it. */
  let ending: Ending | undefined;
  let failures = 0;
  let outOfMemory = false;
  let stopped: Promise<void> | undefined;

  let isTold = false;
  const tellOfData = () => {
    const message =
      "Files that the app wrote outside of /data are gone: what has to stay belongs in /data (the variable DATA_DIR)";
    if (!isTold) output.add({ level: "info", message });
    isTold = true;
  };

  /**
   * Starts the program and waits until it is healthy; otherwise returns the reason. A program that ignores PORT starts
   * again, with its own port.
   */
  const begin = async (log: Run["log"], tell: Run["log"] = () => {}): Promise<string | undefined> => {
    for (let tries = 1; ; tries++) {
      const at = running?.port ?? (await freePort());
      const inside = own ?? at;
      let portTaken = false;
      outOfMemory = false;
      output.begin();
      const take = (line: LogLine) => {
        portTaken ||= portTakenWords.test(line.message);
        outOfMemory ||= tellsOfMemory(line.message);
        output.add(line);
        if (port === undefined) tell(line);
      };
      const started = running ? running.adopt(take) : program.start({ port: at, inside, isOnlyIpv6 }, take);
      running = undefined;
      child = started;
      const { health, url, healthTimeout_ms: timeout_ms, refusal, listening, explain = () => "" } = program;
      const look =
        listening && !isOnlyIpv6
          ? watchPorts(inside, { listening: () => listening(started), isFixed: own !== undefined, timeout_ms }, log)
          : () => undefined;
      let other: Listener | undefined;
      const hasEnded = () => {
        if (started.ending) return describe(started.ending);
        other = look();
        return other && `it listens on port ${other.port}`;
      };
      const place = { port: at, url, health, timeout_ms, refusal: refusal(inside) };
      const answer = await waitUntilHealthy(place, hasEnded, { log, signal: stopping.signal });
      if (typeof answer === "number") {
        port = at;
        tell({ level: "info", message: `The health check passed: GET ${health ?? "/"} answered ${answer}` });
        const since = monotonicNow();
        const hasLeft = program.layerOf?.(started);
        void started.ended.then((how) => {
          if (hasLeft?.() || how.leftFiles) tellOfData();
          return revive(how, monotonicNow() - since);
        });
        arrival.arrive(true);
        return undefined;
      }
      ending = started.ending;
      await started.stop(1_000);
      if (other !== undefined && !stopping.signal.aborted) {
        own = other.port;
        isOnlyIpv6 = other.isOnlyIpv6;
        tries -= 1;
        const way = isOnlyIpv6 ? `, with a relay to [::1]:${own}` : `, with the port ${own} that it listens on`;
        log({ level: "info", message: `The app starts again${way}` });
        continue;
      }
      portTaken ||= portTakenWords.test(answer);
      if (!portTaken || tries === portsTried || stopping.signal.aborted)
        return answer + explain(started.ending, output.last());
    }
  };

  const crashOfApp = (): Crash | undefined => ending && { process: "web", exit_code: ending.code };

  /** Restarts a program that was healthy and ended, with growing back-off. */
  const revive = async (how: Ending, ran_ms: number) => {
    port = undefined;
    if (!stopping.signal.aborted) arrival = createArrival();
    ending = how;
    if (ran_ms >= stable_ms) failures = 0;
    const limit = `deployments.appMemory (${byteSizeText(program.memory_bytes)})`;
    let reason: string | undefined =
      outOfMemory || how.passed === "memory"
        ? `The app used more memory than ${limit}`
        : describe(how).replace(/^t/, "T");
    while (reason !== undefined && !stopping.signal.aborted) {
      const wait_ms = backoff_ms(failures);
      failures += 1;
      output.add({ level: "error", message: `${reason}; it starts again in ${wait_ms / 1000} s` });
      const crash = crashOfApp();
      if (crash) crashed(crash);
      await pause(wait_ms, stopping.signal);
      if (stopping.signal.aborted) return;
      reason = await begin(output.add);
    }
    if (reason === undefined) output.add({ level: "info", message: "The app is back" });
  };

  const instance: AppInstance = {
    deployment_id: program.deployment_id,
    get port() {
      return port;
    },
    up: async (within_ms) => !stopping.signal.aborted && arrival.up(within_ms),
    output: output.listen,
    crashes(take) {
      takeCrash = take;
    },
    startWorkers: () => workers?.start(),
    stopWorkers: async (grace_ms) => workers?.stop(grace_ms),
    stop(grace_ms) {
      stopped ??= (async () => {
        stopping.abort();
        port = undefined;
        arrival.arrive(false);
        await Promise.all([child?.stop(grace_ms), workers?.stop(grace_ms)]);
        output.end();
        giveUp();
        program.onStopped();
      })();
      return stopped;
    },
    checkMemory(all) {
      workers?.checkMemory(all);
      const wasPassed = endBeyondMemory(child, program.memory_bytes, all);
      // With a control group, the ending names the exceeded limit.
      outOfMemory ||= wasPassed && !child?.passed;
    },
  };
  return { instance, begin, giveUp, crash: crashOfApp, hasPrinted: () => output.last().length > 0 };
}
