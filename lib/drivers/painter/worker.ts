import { parentPort } from "node:worker_threads";
import type { Answer, PaintOrder } from "./painter.ts";
import { render } from "./render.ts";

/** The thread's end of the painter: orders come in one by one, and files go out without being copied. */
parentPort?.on("message", async (order: PaintOrder) => {
  try {
    const painted = await render(order);
    const bytes = new Uint8Array(painted.bytes);
    parentPort?.postMessage({ ...painted, bytes } satisfies Answer, [bytes.buffer]);
  } catch (error) {
    parentPort?.postMessage({ failed: String(error) } satisfies Answer);
  }
});
