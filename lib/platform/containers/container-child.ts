import type { LogLine } from "../../drivers/deployment/contract.ts";
import type { Child, Ending } from "../../kernel/node/child-process.ts";
import { within } from "../../kernel/node/promises.ts";
import { systemNow } from "../../kernel/node/system.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { createLineReader, type Pacing } from "../runtime/lines.ts";
import { onAbort, pause } from "../runtime/pause.ts";
import type { ContainerOrder, Containers } from "./container-settings.ts";
import { createFrameReader } from "./log-frames.ts";
import { watchWrittenFiles } from "./written-files.ts";

interface Given {
  readonly containers: Containers;
  readonly organization_id: string;
  readonly take: (line: LogLine) => void;
  readonly hide: (text: string) => string;
  readonly paced: Pacing;
  readonly scratch_bytes: number;
  /** Aborted when this process ends. The container keeps running. */
  readonly detaching: AbortSignal;
}

/** The interval between calls while the engine is unreachable. */
const pause_ms = 1_000;
/** Log lines may arrive after the container has ended, from a busy engine much later. */
const lastLines_ms = 5_000;
const maxLook_ms = 5_000;

const never = () => new Promise<never>(() => {});
const reasonOf = (error: unknown) => (error as Error).message;

/** Runs a container as a child process for the app supervisor. `given.take` receives its output. */
export const runContainer = (order: ContainerOrder, given: Given): Child => {
  const starting = new AbortController();
  // If this process is ending, the next one starts the container.
  const id = given.detaching.aborted ? never() : given.containers.run(order, starting.signal);
  return childOf(id, () => starting.abort(), 0, given);
};

/** Takes over a container that an earlier process started. `since_s` is the time up to which its log was read. */
export const adoptContainer = (id: string, since_s: number, given: Given): Child =>
  childOf(Promise.resolve(id), () => {}, since_s, given);

function childOf(started: Promise<string>, cancelStart: () => void, since_s: number, given: Given): Child {
  const { containers, take, detaching } = given;
  let ending: Ending | undefined;
  let stopping: Promise<Ending> | undefined;
  let files: ReturnType<typeof watchWrittenFiles> | undefined;

  const watch = async (): Promise<Ending> => {
    let id: string;
    try {
      id = await started;
    } catch (error) {
      return { code: null, signal: null, reason: `could not be started: ${reasonOf(error)}` };
    }
    const log = followLog(id, since_s, given);
    files = watchWrittenFiles(id, given);
    const how = await endOf(id, containers, take, detaching);
    const left = within(maxLook_ms, files.end(), false);
    log.drain();
    await Promise.race([log.ended, pause(lastLines_ms)]);
    log.stop();
    const leftFiles = await left;
    const reason = files.reason() ?? how.reason;
    // Not awaited: a restart uses a new container.
    containers.removeLater(id);
    return { ...how, leftFiles, ...(reason !== undefined && { reason }) };
  };

  const ended = watch().then((how) => {
    ending = how;
    return how;
  });

  const remove = async (grace_ms: number): Promise<Ending> => {
    const id = await started.catch(() => undefined);
    if (id === undefined) return ended;
    if (!ending && grace_ms > 0) {
      await containers.stop(id, grace_ms).catch(() => {});
      if (files) await within(maxLook_ms, files.end(), false);
    }
    try {
      await containers.remove(id);
    } catch (error) {
      // The engine is unreachable. The next start of the service removes the container.
      return { code: null, signal: null, reason: `could not be ended: ${reasonOf(error)}` };
    }
    return ended;
  };

  return {
    pid: undefined,
    ended,
    get ending() {
      return ending;
    },
    stop(grace_ms) {
      stopping ??= remove(grace_ms);
      return stopping;
    },
    kill() {
      cancelStart();
      stopping ??= remove(0);
    },
  };
}

/** Waits until a container ends, even across engine outages. */
async function endOf(
  id: string,
  containers: Containers,
  take: (line: LogLine) => void,
  detaching: AbortSignal,
): Promise<Ending> {
  let isAway = false;
  for (;;) {
    try {
      await containers.wait(id, detaching);
    } catch {
      // The connection broke, or the container was removed. The state below shows which.
    }
    // This process is ending, so no code needs the result.
    if (detaching.aborted) await never();
    try {
      const state = await containers.state(id, detaching);
      if (!state) return { code: null, signal: null, reason: "ended: its container was removed" };
      if (state.OOMKilled) take({ level: "error", message: "The container was killed: out of memory" });
      const { Running, ExitCode, Error: problem } = state;
      // Podman does not report every out-of-memory kill.
      const killed = ExitCode === 137 && !state.OOMKilled ? "was killed (exit code 137), perhaps out of memory" : "";
      const reason = problem === "" ? killed : `ended: ${problem}`;
      if (!Running) return { code: ExitCode, signal: null, ...(reason && { reason }) };
    } catch (error) {
      if (!isAway) take({ level: "error", message: `The engine cannot be reached: ${reasonOf(error)}` });
      isAway = true;
    }
    await pause(pause_ms);
  }
}

/** Streams a container's output until it ends, even across engine outages. */
function followLog(id: string, since_s: number, { containers, take, hide, detaching, organization_id, paced }: Given) {
  const stopping = new AbortController();
  const draining = new AbortController();
  const drain = () => draining.abort();
  const stop = () => {
    stopping.abort();
    drain();
  };
  const stopListening = onAbort(detaching, stop);
  let since = since_s;
  const read = async () => {
    const readers = { stdout: createLineReader(take, hide), stderr: createLineReader(take, hide) };
    const write = {
      stdout: paced(organization_id, readers.stdout.write),
      stderr: paced(organization_id, readers.stderr.write),
    };
    let wait_ms = 0;
    const frames = createFrameReader((stream, chunk) => {
      const takeChunk = draining.signal.aborted ? readers[stream].write : write[stream];
      wait_ms = Math.max(wait_ms, takeChunk(chunk));
    });
    const response = await containers.logs(id, since, stopping.signal);
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        wait_ms = 0;
        frames(chunk);
        since = systemNow() / 1000;
        // Reading a flooded log at once would keep a processor busy.
        if (wait_ms >= 1 && !draining.signal.aborted) await pause(wait_ms, draining.signal);
      }
    } finally {
      readers.stdout.end();
      readers.stderr.end();
    }
  };
  const follow = async () => {
    for (;;) {
      const isOver = await read().then(
        () => true,
        () => false,
      );
      if (isOver || stopping.signal.aborted) return;
      await pause(pause_ms, stopping.signal);
    }
  };
  const ended = follow();
  return {
    ended,
    drain,
    stop() {
      stop();
      stopListening();
    },
  };
}
