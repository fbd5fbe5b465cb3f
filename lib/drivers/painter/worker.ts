import { parentPort } from "node:worker_threads";
import { useStopGuard } from "./deflate.ts";
import type { WorkerOrder, WorkerReply } from "./painter.ts";
import { render } from "./render.ts";

/** A painter's worker thread. It takes one order at a time and transfers the file without a copy. */
parentPort?.on("message", async (order: WorkerOrder) => {
  useStopGuard(order.stopGuard);
  try {
    const painted = await render(order);
    const bytes = new Uint8Array(painted.bytes);
    parentPort?.postMessage({ ...painted, bytes } satisfies WorkerReply, [bytes.buffer]);
  } catch (error) {
    parentPort?.postMessage({ failed: String(error) } satisfies WorkerReply);
  }
});
