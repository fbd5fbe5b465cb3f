import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { systemTimer } from "../../kernel/clock.ts";

/** What is to be painted. The same order gives the same bytes. */
export interface PaintOrder {
  readonly kind: "image" | "video";
  /** What it shows: its words choose subject, light and weather. */
  readonly prompt: string;
  /** In pixels, from 16 to 2048; even for films. */
  readonly width: number;
  readonly height: number;
  /** Films are mp4, pictures any of the others. */
  readonly format: "png" | "jpeg" | "webp" | "mp4";
  /** From 0 to 4294967295: another one gives another picture of the same prompt. */
  readonly seed: number;
  /** How long a film is, from 1 to 8 s; pictures pass over it. */
  readonly duration_ms: number;
}

export interface Painted {
  readonly bytes: Uint8Array;
  readonly content_type: "image/png" | "image/jpeg" | "image/webp" | "video/mp4";
}

/** What a worker answers to an order. */
export type Answer = Painted | { readonly failed: string };

export interface Painter {
  /** Resolves with the file. Rejects with the signal's reason once that is aborted, and with an Error that says why nothing was painted. */
  paint(order: PaintOrder, signal?: AbortSignal): Promise<Painted>;
  /** Ends every worker; what was not finished is rejected. */
  close(): Promise<void>;
}

export interface PainterOptions {
  /** How many orders are painted at once; by default a core less than there are, from one to four. */
  readonly threads?: number;
  /** Starts a thread; a test hands in one that dies. */
  readonly start?: () => Worker;
}

interface Task {
  readonly order: PaintOrder;
  readonly done: (painted: Painted) => void;
  readonly fail: (reason: unknown) => void;
}

interface Hand {
  readonly worker: Worker;
  task: Task | undefined;
  /** Takes back that an idle worker ends. */
  stay: () => void;
}

const idle = "10s";
const fewer = Math.min(4, Math.max(1, availableParallelism() - 1));

/** A worker from the bundle, where it is an entry of its own, or from the sources, which tsx must translate in each thread anew. */
export function startWorker(): Worker {
  if (!import.meta.url.endsWith(".ts"))
    return new Worker(new URL("../lib/painting.js", import.meta.url), { execArgv: [] });
  const [tsx, file] = [import.meta.resolve("tsx/esm/api"), new URL("./worker.ts", import.meta.url).href];
  const load = `import("${tsx}").then(({ register }) => { register(); return import("${file}"); })`;
  return new Worker(load, { eval: true, execArgv: [] });
}

function judge({ kind, format, width, height, seed, duration_ms }: PaintOrder): void {
  const whole = (name: string, value: number, low: number, high: number) => {
    if (!Number.isInteger(value) || value < low || value > high)
      throw new RangeError(`${name} must be a whole number from ${low} to ${high}, not ${value}`);
  };
  whole("width", width, 16, 2048);
  whole("height", height, 16, 2048);
  whole("seed", seed, 0, 4_294_967_295);
  if ((kind === "video") !== (format === "mp4"))
    throw new RangeError(`a film is mp4 and a picture png, jpeg or webp, so no ${kind} can be ${format}`);
  if (kind === "image") return;
  whole("duration_ms", duration_ms, 1000, 8000);
  if (width % 2 || height % 2) throw new RangeError(`a film needs even sides, not ${width}x${height}`);
}

/**
 * Paints in worker threads, so the event loop never stalls; orders beyond `threads` wait in a queue that never
 * refuses. Workers start at the first order and stop when idle, and an idle one keeps no process alive.
 */
export function createPainter({ threads = fewer, start = startWorker }: PainterOptions = {}): Painter {
  const waiting: Task[] = [];
  const hands = new Set<Hand>();
  let closed = false;

  const dismiss = (hand: Hand, reason: unknown): Promise<unknown> => {
    hands.delete(hand);
    hand.stay();
    hand.task?.fail(reason);
    hand.task = undefined;
    return hand.worker.terminate();
  };

  const hire = (): Hand => {
    const hand: Hand = { worker: start(), task: undefined, stay: () => {} };
    const gone = (reason: string) => {
      void dismiss(hand, new Error(`the picture could not be painted: ${reason}`));
      next();
    };
    hand.worker.on("message", (answer: Answer) => {
      const { task } = hand;
      hand.task = undefined;
      if ("failed" in answer) task?.fail(new Error(`the picture could not be painted: ${answer.failed}`));
      else task?.done(answer);
      next();
      if (hand.task) return;
      hand.worker.unref();
      hand.stay = systemTimer(idle, () => void dismiss(hand, undefined));
    });
    hand.worker.on("error", (error) => gone(error.message));
    hand.worker.on("exit", (code) => gone(`its worker ended with ${code}`));
    hands.add(hand);
    return hand;
  };

  /** Hands waiting orders to whoever is free. */
  function next(): void {
    while (waiting.length > 0) {
      const free = [...hands].find(({ task }) => !task) ?? (hands.size < threads ? hire() : undefined);
      if (!free) return;
      free.task = waiting.shift();
      free.stay();
      free.worker.ref();
      free.worker.postMessage(free.task?.order);
    }
  }

  return {
    async paint(order, signal) {
      if (closed) throw new Error("the painter is closed; create another one");
      signal?.throwIfAborted();
      judge(order);
      let stop = () => {};
      const painted = new Promise<Painted>((done, fail) => {
        const task: Task = { order: { ...order }, done, fail };
        stop = () => {
          const hand = [...hands].find((one) => one.task === task);
          if (hand) void dismiss(hand, signal?.reason);
          else waiting.splice(waiting.indexOf(task), 1);
          fail(signal?.reason);
          next();
        };
        waiting.push(task);
      });
      signal?.addEventListener("abort", stop);
      next();
      return painted.finally(() => signal?.removeEventListener("abort", stop));
    },
    async close() {
      closed = true;
      const reason = new Error("the painter was closed before the picture was finished");
      for (const task of waiting.splice(0)) task.fail(reason);
      await Promise.all([...hands].map((hand) => dismiss(hand, reason)));
    },
  };
}
