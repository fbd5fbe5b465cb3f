import type { LogLine } from "../../drivers/deployment/contract.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { onAbort, pause } from "../runtime/pause.ts";
import type { Containers } from "./container-settings.ts";

const check_ms = 10_000;
/** Some engines compare the whole image to find a size. The pause is this many times as long as a look, to a limit. */
const rests = 50;
const maxRest_ms = 60_000;
/** After this many failed looks in a row, the container is stopped. */
const maxFailures = 5;

interface Ports {
  readonly containers: Pick<Containers, "writtenBytes" | "stop">;
  readonly take: (line: LogLine) => void;
  readonly scratch_bytes: number;
  readonly detaching: AbortSignal;
}

/** Stops a container that writes more than the limit to its own file system, which the engine itself does not limit. */
export function watchWrittenFiles(id: string, { containers, take, scratch_bytes, detaching }: Ports) {
  const ending = new AbortController();
  const end = () => ending.abort();
  const stopListening = onAbort(detaching, end);
  const look = () => containers.writtenBytes(id).catch(() => undefined);
  /** Some engines report a size for a container that wrote nothing. */
  let first: number | undefined;
  let isTold = false;
  let reason: string | undefined;
  let stopping: Promise<void> | undefined;

  const tellUnread = () => {
    const message = "The engine does not say how much the container wrote, so deployments.scratch cannot be checked";
    if (!isTold) take({ level: "warn", message });
    isTold = true;
  };
  const faultOf = (bytes: number | undefined, failures: number): string | undefined => {
    const limit = `deployments.scratch (${byteSizeText(scratch_bytes)})`;
    if (bytes !== undefined && bytes > scratch_bytes)
      return `wrote more than ${limit} outside of /data: what is large or has to stay belongs in /data (the variable DATA_DIR)`;
    if (failures < maxFailures) return undefined;
    return `was stopped: the engine did not say whether it wrote more than ${limit}`;
  };
  const watch = async () => {
    let failures = 0;
    while (!ending.signal.aborted) {
      const since = monotonicNow();
      const bytes = await look();
      const took_ms = monotonicNow() - since;
      first ??= bytes;
      if (ending.signal.aborted) return;
      failures = bytes === undefined ? failures + 1 : 0;
      if (bytes === undefined) tellUnread();
      const fault = faultOf(bytes, failures);
      if (fault !== undefined) {
        const stopped = () => {
          reason = fault;
        };
        stopping = containers.stop(id, 1_000).then(stopped, () => {});
        await stopping;
        if (reason !== undefined) return;
      }
      const mayRest = bytes !== undefined && fault === undefined;
      await pause(mayRest ? Math.min(Math.max(check_ms, rests * took_ms), maxRest_ms) : check_ms, ending.signal);
    }
  };
  void watch();
  let left: Promise<boolean> | undefined;
  return {
    /** Why the watch stopped the container, as the end of a sentence. */
    reason: () => reason,
    /** Call when the container has stopped and still exists. Resolves with whether it wrote files. */
    end(): Promise<boolean> {
      end();
      stopListening();
      // Waits for `stopping` too: the container ends before the engine answers the stop.
      left ??= Promise.all([look(), stopping]).then(
        ([bytes]) => bytes !== undefined && first !== undefined && bytes > first,
      );
      return left;
    },
  };
}
