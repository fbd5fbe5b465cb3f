import * as v from "valibot";
import type { SimulatedOutcome } from "../simulated-outcome.ts";

/** What a driver of generations is asked for: plain data, so that it can be asked again after a crash. */
export interface GenerationWork {
  readonly generation_id: string;
  readonly model: string;
  readonly kind: "image" | "video";
  /** Empty where none was given. */
  readonly prompt: string;
  /** In pixels; even for films. */
  readonly width: number;
  readonly height: number;
  readonly format: "png" | "jpeg" | "webp" | "mp4";
  /** 0 to 4294967295. */
  readonly seed: number;
  /** How long a film plays; 0 for images. */
  readonly duration_ms: number;
  /** What a tester told of it; null in the mode `start`, and where no scenario fits. */
  readonly outcome: SimulatedOutcome | null;
  /** How long it has been in progress, by the service's clock. */
  readonly elapsed_ms: number;
}

const message = v.string();

/**
 * How far a generation is. `running` is asked again after `again_ms`: by `poll` where a handle was given, and by `submit`
 * where none was, which says that the work was not taken yet. `done` has the whole file, and what it cost where that is
 * not the model's price.
 */
export const progress = v.variant("state", [
  v.object({
    state: v.literal("running"),
    again_ms: v.pipe(v.number(), v.minValue(1)),
    handle: v.nullable(v.pipe(v.string(), v.nonEmpty())),
  }),
  v.object({
    state: v.literal("done"),
    bytes: v.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length > 0, "bytes must hold the file"),
    cost_usd: v.nullable(v.pipe(v.number(), v.minValue(0), v.maxValue(1_000_000))),
  }),
  v.object({ state: v.literal("failed"), code: v.optional(v.string(), "generation_failed"), message }),
]);

export type Progress = v.InferInput<typeof progress>;

/**
 * Runs models. A handle is stored before it is polled, so that a restart polls on instead of paying twice. A crash
 * between `submit` and that commit leads to `submit` once more, with the same `generation_id`: a driver that pays hands
 * it on as idempotency key.
 */
export interface GenerationDriver {
  /** Whether it does as `outcome` says. Scenarios are not used up by a driver that does not. */
  readonly takesScenarios?: boolean;
  /** How long a generation stays queued at least, in milliseconds. */
  delay(work: GenerationWork): number;
  submit(work: GenerationWork): Promise<Progress>;
  poll(work: GenerationWork, handle: string): Promise<Progress>;
  /** Ends work that nobody wants any more; `handle` is null where none is known. Unknown work is no fault. */
  cancel(work: GenerationWork, handle: string | null): Promise<void>;
  /** Ends what runs in this process, at the service's end; it is asked for again after the next start. */
  close?(): Promise<void>;
}
