import { monotonicNow } from "../../kernel/node/system.ts";
import { AbortController } from "../../kernel/node/web.ts";
import { byteSizeText } from "../../kernel/text/byte-size.ts";
import { pause } from "../runtime/pause.ts";
import type { Containers } from "./container-settings.ts";

const check_ms = 10_000;
/** Some engines compare the whole image to find out a size. They get this many times as long to rest. */
const rests = 50;

interface Ports {
  readonly containers: Pick<Containers, "writtenBytes" | "stop">;
  /** Option `deployments.scratch`. */
  readonly scratch_bytes: number;
  /** Aborted when this process ends. The container keeps running. */
  readonly detaching: AbortSignal;
}

/** Stops a container that writes more than the limit to its own file system, which the engine itself does not limit. */
export function watchWrittenFiles(id: string, { containers, scratch_bytes, detaching }: Ports) {
  const ending = new AbortController();
  const end = () => ending.abort();
  detaching.addEventListener("abort", end);
  const look = () => containers.writtenBytes(id).catch(() => 0);
  let reason: string | undefined;
  const watch = async () => {
    while (!ending.signal.aborted) {
      const since = monotonicNow();
      if ((await look()) > scratch_bytes) {
        reason = `wrote more than deployments.scratch (${byteSizeText(scratch_bytes)}) outside of /data: what is large or has to stay belongs in /data (the variable DATA_DIR)`;
        return containers.stop(id, 1_000).catch(() => {});
      }
      await pause(Math.max(check_ms, rests * (monotonicNow() - since)), ending.signal);
    }
  };
  void watch();
  let left: Promise<boolean> | undefined;
  return {
    /** The end of a sentence, if the limit was passed. */
    reason: () => reason,
    /** Call when the container has stopped and still exists. Resolves with whether it wrote files. */
    end(): Promise<boolean> {
      end();
      detaching.removeEventListener("abort", end);
      left ??= look().then((bytes) => bytes > 0);
      return left;
    },
  };
}
