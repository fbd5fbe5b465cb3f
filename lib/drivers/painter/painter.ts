import { availableParallelism } from "node:os";
import type { Worker } from "node:worker_threads";
import { systemTimer } from "../../kernel/clock.ts";
import { startWorker } from "../../kernel/node/worker-thread.ts";
import type { GenerationWork } from "../generation/contract.ts";
import { createStopGuard, holdForStop, type StopGuard } from "./deflate.ts";

/**
 * A picture or film to paint. The same order gives the same bytes, and another seed another picture. Sides have 16 to
 * 2048 pixels. A film is mp4, has even sides, and lasts from 1 to 8 s.
 */
export type PaintOrder = Pick<
  GenerationWork,
  "kind" | "prompt" | "width" | "height" | "format" | "seed" | "duration_ms"
>;

/** `painted` is a scene; `fast` is a placeholder in the prompt's colours, with the prompt on it. */
export type Media = "painted" | "fast";

export interface WorkerOrder extends PaintOrder {
  readonly media: Media;
  readonly stopGuard: StopGuard;
}

export interface Painted {
  readonly bytes: Uint8Array;
  readonly content_type: "image/png" | "image/jpeg" | "image/webp" | "video/mp4";
}

export type WorkerReply = Painted | { readonly failed: string };

export type Painter = ReturnType<typeof createPainter>;

export interface PainterOptions {
  readonly media?: Media;
  /** How many orders are painted in parallel. Default: one less than the number of cores, between one and four. */
  readonly threads?: number;
  /** Starts a thread. Tests pass a thread that dies. */
  readonly start?: () => Worker;
}

interface Task {
  readonly order: Omit<WorkerOrder, "stopGuard">;
  readonly begun: () => void;
  readonly done: (painted: Painted) => void;
  readonly fail: (reason: unknown) => void;
}

interface PaintWorker {
  readonly thread: Worker;
  readonly stopGuard: StopGuard;
  task: Task | undefined;
  stopIdleTimer: () => void;
}

const idleTimeout = "10s";
const defaultThreads = Math.min(4, Math.max(1, availableParallelism() - 1));

export const startPainting = () => startWorker("painting", import.meta.url, "./worker.ts");

/** Throws a RangeError that states the valid values. */
function checkOrder({ kind, format, width, height, seed, duration_ms }: PaintOrder): void {
  const checkWhole = (name: string, value: number, low: number, high: number) => {
    if (!Number.isInteger(value) || value < low || value > high)
      throw new RangeError(`${name} must be a whole number from ${low} to ${high}, not ${value}`);
  };
  checkWhole("width", width, 16, 2048);
  checkWhole("height", height, 16, 2048);
  checkWhole("seed", seed, 0, 4_294_967_295);
  if ((kind === "video") !== (format === "mp4"))
    throw new RangeError(`a film is mp4 and a picture png, jpeg or webp, so no ${kind} can be ${format}`);
  if (kind === "image") return;
  checkWhole("duration_ms", duration_ms, 1000, 8000);
  if (width % 2 || height % 2) throw new RangeError(`a film needs even sides, not ${width}x${height}`);
}

/**
 * Paints in worker threads, so the event loop never stalls. Orders beyond `threads` wait in an unbounded queue. Workers
 * start at the first order and stop when idle. An idle worker does not keep the process alive.
 */
export function createPainter({
  media = "painted",
  threads = defaultThreads,
  start = startPainting,
}: PainterOptions = {}) {
  const waiting: Task[] = [];
  const workers = new Set<PaintWorker>();
  let closed = false;

  const stopWorker = async (worker: PaintWorker, reason: unknown): Promise<void> => {
    workers.delete(worker);
    worker.stopIdleTimer();
    worker.task?.fail(reason);
    worker.task = undefined;
    if (!holdForStop(worker.stopGuard)) {
      // The thread is compressing and will reply right after that.
      await new Promise((resolve) => worker.thread.once("message", resolve).once("exit", resolve));
    }
    await worker.thread.terminate();
  };

  const addWorker = (): PaintWorker => {
    const worker: PaintWorker = {
      thread: start(),
      stopGuard: createStopGuard(),
      task: undefined,
      stopIdleTimer: () => {},
    };
    const crashed = (reason: string) => {
      void stopWorker(worker, new Error(`the picture could not be painted: ${reason}`));
      dispatch();
    };
    worker.thread.on("message", (reply: WorkerReply) => {
      // The worker is being stopped. A late reply must not call unref(), or the process could end before terminate()
      // has finished.
      if (!workers.has(worker)) return;
      const { task } = worker;
      worker.task = undefined;
      if ("failed" in reply) task?.fail(new Error(`the picture could not be painted: ${reply.failed}`));
      else task?.done(reply);
      dispatch();
      if (worker.task) return;
      worker.thread.unref();
      worker.stopIdleTimer = systemTimer(idleTimeout, () => void stopWorker(worker, undefined));
    });
    worker.thread.on("error", (error) => crashed(error.message));
    worker.thread.on("exit", (code) => crashed(`its worker ended with ${code}`));
    workers.add(worker);
    return worker;
  };

  /** Gives waiting orders to free workers; starts workers up to `threads`. */
  function dispatch(): void {
    while (waiting.length > 0) {
      const free = [...workers].find(({ task }) => !task) ?? (workers.size < threads ? addWorker() : undefined);
      if (!free) return;
      const task = waiting.shift() as Task;
      free.task = task;
      free.stopIdleTimer();
      free.thread.ref();
      free.thread.postMessage({ ...task.order, stopGuard: free.stopGuard } satisfies WorkerOrder);
      task.begun();
    }
  }

  return {
    /**
     * Resolves with the file. `begun` is called when a thread takes the order. Rejects with the reason of the aborted
     * signal, or with an Error that says why painting failed.
     */
    async paint(order: PaintOrder, signal?: AbortSignal, begun = () => {}): Promise<Painted> {
      if (closed) throw new Error("the painter is closed; create another one");
      signal?.throwIfAborted();
      checkOrder(order);
      let abort = () => {};
      const painted = new Promise<Painted>((done, fail) => {
        const task: Task = { order: { ...order, media }, begun, done, fail };
        abort = () => {
          const worker = [...workers].find((one) => one.task === task);
          if (worker) void stopWorker(worker, signal?.reason);
          else waiting.splice(waiting.indexOf(task), 1);
          fail(signal?.reason);
          dispatch();
        };
        waiting.push(task);
      });
      signal?.addEventListener("abort", abort);
      dispatch();
      return painted.finally(() => signal?.removeEventListener("abort", abort));
    },
    /** Stops all workers and rejects unfinished orders. */
    async close(): Promise<void> {
      closed = true;
      const reason = new Error("the painter was closed before the picture was finished");
      for (const task of waiting.splice(0)) task.fail(reason);
      await Promise.all([...workers].map((worker) => stopWorker(worker, reason)));
    },
  };
}
