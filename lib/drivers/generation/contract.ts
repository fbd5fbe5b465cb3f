import { isUint8Array } from "node:util/types";
import * as v from "valibot";
import type { SimulatedOutcome } from "../simulated-outcome.ts";

/** The work of a generation driver, as plain data. After a crash the driver receives the same work again. */
export interface GenerationWork {
  readonly generation_id: string;
  readonly model: string;
  readonly kind: "image" | "video";
  /** The caller's inputs, plus the defaults of built-in inputs. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Empty if there is no prompt. */
  readonly prompt: string;
  /** In pixels. Films have even sizes. */
  readonly width: number;
  readonly height: number;
  readonly format: "png" | "jpeg" | "webp" | "mp4";
  /** 0 to 4294967295. */
  readonly seed: number;
  /** The length of a film; 0 for images. */
  readonly duration_ms: number;
  /** From the tester's scenario; null in the mode `start` and if no scenario matches. */
  readonly outcome: SimulatedOutcome | null;
  /** The time since the work began, by the service's clock. */
  readonly elapsed_ms: number;
}

const message = v.string();

/**
 * The progress of a generation. After `running` the service waits `again_ms`, then calls `poll` with the handle. If the
 * handle is null, the work was not accepted yet, and the service calls `submit` again. `done` contains the whole file,
 * and the cost if it differs from the model's price.
 */
export const progress = v.variant("state", [
  v.object({
    state: v.literal("running"),
    again_ms: v.pipe(v.number(), v.minValue(1)),
    handle: v.nullable(v.pipe(v.string(), v.nonEmpty())),
    /** The completed fraction, 0 to 1; absent if the driver does not know it. */
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
 * Runs models. The service stores a handle before it polls, so a restart keeps polling instead of paying twice. A crash
 * between `submit` and that commit causes a second `submit` with the same `generation_id`. Drivers of paid services
 * send this id as idempotency key.
 */
export interface GenerationDriver {
  /** Whether the driver follows `outcome`. If not, scenarios are not used up. */
  readonly takesScenarios?: boolean;
  /** The shortest time in the queue, in milliseconds. */
  delay(work: GenerationWork): number;
  /**
   * The completed fraction, 0 to 1, if the driver knows it without a request. Each read of the generation calls this.
   */
  progressOf?(work: GenerationWork): number | undefined;
  submit(work: GenerationWork): Promise<Progress>;
  poll(work: GenerationWork, handle: string): Promise<Progress>;
  /** Stops cancelled work; `handle` is null if it is unknown. Unknown work is not an error. */
  cancel(work: GenerationWork, handle: string | null): Promise<void>;
  /** Stops the work in this process at shutdown. The next start submits or polls it again. */
  close?(): Promise<void>;
}
