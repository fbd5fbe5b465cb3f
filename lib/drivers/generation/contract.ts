import { isUint8Array } from "node:util/types";
import * as v from "valibot";
import type { SimulatedOutcome } from "../simulated-outcome.ts";

/** The work of a generation driver, as plain data: after a crash the driver is called with the same work again. */
export interface GenerationWork {
  readonly generation_id: string;
  readonly model: string;
  readonly kind: "image" | "video";
  /** The inputs as the caller gave them, with the defaults of built-in inputs. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Empty without one. */
  readonly prompt: string;
  /** In pixels; even for films. */
  readonly width: number;
  readonly height: number;
  readonly format: "png" | "jpeg" | "webp" | "mp4";
  /** 0 to 4294967295. */
  readonly seed: number;
  /** The length of a film; 0 for images. */
  readonly duration_ms: number;
  /** From the scenario of a tester; null in the mode `start`, and where no scenario matches. */
  readonly outcome: SimulatedOutcome | null;
  /** The time in progress, by the service's clock. */
  readonly elapsed_ms: number;
}

const message = v.string();

/**
 * The progress of a generation. After `running` the service waits `again_ms`, then calls `poll` with the handle, or
 * `submit` again where the handle is null, because the work was not accepted yet. `done` has the whole file, and its cost
 * where that differs from the model's price.
 */
export const progress = v.variant("state", [
  v.object({
    state: v.literal("running"),
    again_ms: v.pipe(v.number(), v.minValue(1)),
    handle: v.nullable(v.pipe(v.string(), v.nonEmpty())),
    /** The part that is done, 0 to 1; absent where the driver does not know it. */
    progress: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
  }),
  v.object({
    state: v.literal("done"),
    bytes: v.custom<Uint8Array>((value) => isUint8Array(value) && value.length > 0, "bytes must hold the file"),
    cost_usd: v.nullable(v.pipe(v.number(), v.minValue(0), v.maxValue(1_000_000))),
  }),
  v.object({ state: v.literal("failed"), code: v.optional(v.string(), "generation_failed"), message }),
]);

export type Progress = v.InferInput<typeof progress>;

/**
 * Runs models. The service stores a handle before it polls, so a restart continues to poll instead of paying twice. A crash
 * between `submit` and that commit leads to a second `submit` with the same `generation_id`: drivers of paid services send
 * it as idempotency key.
 */
export interface GenerationDriver {
  /** Whether the driver follows `outcome`. A driver that does not uses up no scenarios. */
  readonly takesScenarios?: boolean;
  /** The shortest time in the queue, in milliseconds. */
  delay(work: GenerationWork): number;
  /** The part of the work that is done, 0 to 1, where that follows from the time alone: it is asked at each read. */
  progressOf?(work: GenerationWork): number | undefined;
  submit(work: GenerationWork): Promise<Progress>;
  poll(work: GenerationWork, handle: string): Promise<Progress>;
  /** Stops cancelled work; `handle` is null where none is known. Unknown work is no error. */
  cancel(work: GenerationWork, handle: string | null): Promise<void>;
  /** Stops the work in this process when the service shuts down. The next start asks for it again. */
  close?(): Promise<void>;
}
