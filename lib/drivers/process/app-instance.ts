import { byteSizeText } from "../../kernel/byte-size.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { monotonicNow } from "../../kernel/system.ts";
import { AbortController } from "../../kernel/web.ts";
import type { Run } from "../deployment/background-steps.ts";
import type { Instance, LogLine } from "../deployment/contract.ts";
import type { Child, Ending } from "./child.ts";
import { Unhealthy } from "./failure.ts";
import { freePort, waitUntilHealthy } from "./health.ts";
import { tellsOfMemory } from "./lines.ts";
import { createOutput } from "./output.ts";
import { pause } from "./pause.ts";
import { descendantsOf, memoryOf, type ProcessEntry } from "./process-table.ts";

/** A program that is to run, and how its health is checked. */
export interface Program {
  readonly deployment_id: string;
  start(port: number, take: (line: LogLine) => void): Child;
  /** Runs already, since before this process: it is taken over, and `start` comes after its end. */
  readonly running?: { readonly port: number; adopt(take: (line: LogLine) => void): Child };
  readonly health: string;
  /** What it means that a connection to the port is refused, or closed at once. */
  readonly refusal: (port: number) => string;
  readonly healthTimeout_ms: number;
  readonly memory_bytes: number;
  /** Called when it is stopped for good. */
  readonly onStopped: () => void;
}

const firstBackoff_ms = 250;
const longestBackoff_ms = 30_000;
/** An app that ran this long and then ended has not failed at its start. */
const stable_ms = 60_000;
/** Another program may take the port between the choice and the start. */
const portsTried = 3;

const describe = ({ code, signal, reason }: Ending) =>
  reason ?? `the app ended ${signal ? `by the signal ${signal}` : `with the exit code ${code}`}`;
const portTakenWords = /EADDRINUSE|address already in use|port is already allocated/;

export type AppInstance = Instance & {
  /** Ends the app where it uses more memory than it may; it starts again. */
  checkMemory(all: () => readonly ProcessEntry[]): void;
};

/** Starts a program and keeps it running. Resolves once it is healthy, and rejects where it never was. */
export async function startApp(program: Program, { log, signal }: Pick<Run, "log" | "signal">): Promise<AppInstance> {
  const app = createApp(program, signal);
  const reason = await app.begin(log);
  if (reason === undefined) return app.instance;
  const printed = app.lastLines();
  const silent: LogLine = { level: "info", message: "The app printed nothing" };
  throw new Unhealthy(`the health check failed: ${reason}`, { cause: printed.length > 0 ? printed : [silent] });
}

function createApp(program: Program, signal: AbortSignal) {
  const output = createOutput();
  const stopping = new AbortController();
  const abort = () => stopping.abort();
  signal.addEventListener("abort", abort);
  const waiting = new Set<(up: boolean) => void>();
  let child: Child | undefined;
  let running = program.running;
  let port: number | undefined;
  let failures = 0;
  let outOfMemory = false;
  let stopped: Promise<void> | undefined;

  const tellWaiting = (up: boolean) => {
    for (const tell of waiting) tell(up);
    waiting.clear();
  };

  /** Starts the program and waits until it is healthy; answers the reason where it does not become so. */
  const begin = async (log: Run["log"]): Promise<string | undefined> => {
    for (let tries = 1; ; tries++) {
      const at = running?.port ?? (await freePort());
      let portTaken = false;
      outOfMemory = false;
      const take = (line: LogLine) => {
        portTaken ||= portTakenWords.test(line.message);
        outOfMemory ||= tellsOfMemory(line.message);
        output.add(line);
      };
      const started = running ? running.adopt(take) : program.start(at, take);
      running = undefined;
      child = started;
      const hasEnded = () => (started.ending ? describe(started.ending) : undefined);
      const { health: path, healthTimeout_ms: timeout_ms, refusal } = program;
      const place = { port: at, path, timeout_ms, refusal: refusal(at) };
      const reason = await waitUntilHealthy(place, hasEnded, { log, signal: stopping.signal });
      if (reason === undefined) {
        port = at;
        const since = monotonicNow();
        void started.ended.then((how) => revive(how, monotonicNow() - since));
        tellWaiting(true);
        return undefined;
      }
      await started.stop(1_000);
      portTaken ||= portTakenWords.test(reason);
      if (!portTaken || tries === portsTried || stopping.signal.aborted) return reason;
    }
  };

  /** After the end of a program that was healthy: it starts again, each time later. */
  const revive = async (how: Ending, ran_ms: number) => {
    port = undefined;
    if (ran_ms >= stable_ms) failures = 0;
    const limit = `deployments.appMemory (${byteSizeText(program.memory_bytes)})`;
    let reason: string | undefined =
      outOfMemory || how.passed === "memory"
        ? `The app used more memory than ${limit}`
        : describe(how).replace(/^t/, "T");
    while (reason !== undefined && !stopping.signal.aborted) {
      const wait_ms = Math.min(firstBackoff_ms * 2 ** failures, longestBackoff_ms);
      failures += 1;
      output.add({ level: "error", message: `${reason}; it starts again in ${wait_ms / 1000} s` });
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
    up(within_ms) {
      if (port !== undefined) return Promise.resolve(true);
      if (stopping.signal.aborted) return Promise.resolve(false);
      return new Promise((resolve) => {
        const cancel = systemTimer(within_ms, () => tell(false));
        const tell = (up: boolean) => {
          cancel();
          waiting.delete(tell);
          resolve(up);
        };
        waiting.add(tell);
      });
    },
    output: output.listen,
    stop(grace_ms) {
      stopped ??= (async () => {
        stopping.abort();
        port = undefined;
        tellWaiting(false);
        await child?.stop(grace_ms);
        output.end();
        signal.removeEventListener("abort", abort);
        program.onStopped();
      })();
      return stopped;
    },
    checkMemory(all) {
      if (child?.pid === undefined || child.ending) return;
      const { pid } = child;
      if (child.passed) {
        if (child.passed() === "memory") child.kill();
        return;
      }
      const its = [...all().filter((one) => one.pid === pid), ...descendantsOf(pid, all())];
      if (memoryOf(its) <= program.memory_bytes) return;
      outOfMemory = true;
      child.kill();
    },
  };
  return { instance, begin, lastLines: output.last };
}
